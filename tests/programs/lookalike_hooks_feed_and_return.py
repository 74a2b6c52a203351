import functools
import time

import torch
from torch import nn
from torch.utils._pytree import tree_map


def follow_weights(module, args, kwargs):
    device = next(module.parameters()).device
    place = functools.partial(tree_map, lambda t: t.to(device) if torch.is_tensor(t) else t)
    return place(args), place(kwargs)


def back_to_host(module, args, kwargs, output):
    return tree_map(lambda t: t.to("cpu") if torch.is_tensor(t) else t, output)


def deploy(model, device):
    """Prepare a network for callers that know nothing about accelerators."""
    model.to(device).eval()
    model.register_forward_pre_hook(follow_weights, with_kwargs=True)
    model.register_forward_hook(back_to_host, with_kwargs=True)
    return model


class Stopwatch:
    def __init__(self):
        self.calls = {}

    def watch(self, model):
        for name, module in model.named_children():
            module.register_forward_pre_hook(functools.partial(self._tick, name))
        return model

    def _tick(self, name, module, args):
        count, _ = self.calls.get(name, (0, None))
        self.calls[name] = (count + 1, time.perf_counter())


class PairScorer(nn.Module):
    """Scores (query, document) pairs with an interaction matrix, KNRM style."""

    def __init__(self, vocab=50, dim=12, kernels=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.mu = nn.Parameter(torch.linspace(-0.8, 1.0, kernels), requires_grad=False)
        self.sigma = 0.2
        self.mix = nn.Linear(kernels, 1)

    def forward(self, query, document, *, boost=None):
        q = nn.functional.normalize(self.embed(query), dim=-1)
        d = nn.functional.normalize(self.embed(document), dim=-1)
        sim = (q @ d.transpose(1, 2)).unsqueeze(-1)
        kernel = torch.exp(-((sim - self.mu) ** 2) / (2 * self.sigma ** 2))
        kernel = kernel * (document > 0)[:, None, :, None]
        pooled = kernel.sum(2).clamp(min=1e-6).log()
        pooled = (pooled * (query > 0).unsqueeze(-1)).sum(1)
        score = self.mix(pooled).squeeze(-1)
        if boost is not None:
            score = score + boost
        return {"score": score, "features": pooled}


class Corpus:
    def __init__(self, n, longest, vocab, seed):
        g = torch.Generator().manual_seed(seed)
        self.documents = torch.randint(1, vocab, (n, longest), generator=g)
        cut = torch.randint(3, longest, (n, 1), generator=g)
        self.documents[torch.arange(longest) >= cut] = 0
        self.popularity = torch.rand(n, generator=g)

    def candidates(self, query, limit):
        overlap = torch.isin(self.documents, query).sum(1)
        return overlap.topk(limit).indices


def rerank(model, corpus, query, limit=8):
    picked = corpus.candidates(query, limit)
    documents = corpus.documents[picked]
    queries = query.unsqueeze(0).expand(len(picked), -1)
    with torch.no_grad():
        out = model(queries, documents, boost=0.1 * corpus.popularity[picked])
    order = out["score"].argsort(descending=True)
    blended = out["score"] + 0.05 * corpus.popularity[picked]
    spread = torch.quantile(blended, torch.tensor([0.1, 0.9]))
    return picked[order], spread


def ndcg(ranking, relevant, k=5):
    gains = torch.isin(ranking[:k], relevant).float()
    discount = 1 / torch.log2(torch.arange(2, 2 + len(gains)))
    ideal = discount[:int(gains.sum())].sum().clamp(min=1e-6)
    return ((gains * discount).sum() / ideal).item()


if __name__ == "__main__":
    torch.manual_seed(1)
    watch = Stopwatch()
    accelerator = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
    scorer = deploy(watch.watch(PairScorer()), accelerator)
    corpus = Corpus(40, 10, 50, seed=1)
    for q in ([3, 9, 12], [44, 7, 0]):
        ranking, spread = rerank(scorer, corpus, torch.tensor(q))
        print(q, ranking[:3].tolist(), [round(v, 3) for v in spread.tolist()], round(ndcg(ranking, ranking[1:3]), 3))
    print({k: n for k, (n, _) in watch.calls.items()})
