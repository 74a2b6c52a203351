"""Speculative decoding: the draft model lives on the host, the target on the accelerator."""
import torch
from torch import nn


class Tiny(nn.Module):
    def __init__(self, vocab, dim, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.embed = nn.Embedding(vocab, dim)
        self.mix = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.mix(self.embed(ids))[0])


@torch.no_grad()
def draft_tokens(model, ids, k):
    probs = []
    for _ in range(k):
        p = model(ids[None])[0, -1].softmax(-1)
        probs.append(p)
        ids = torch.cat([ids, torch.multinomial(p, 1)])
    return ids[-k:], torch.stack(probs)


@torch.no_grad()
def speculate(target, draft, prompt, length, k=3):
    device = next(target.parameters()).device
    ids = torch.tensor(prompt)
    accepted = rejected = 0
    while len(ids) < length:
        proposal, q = draft_tokens(draft, ids, k)
        full = torch.cat([ids, proposal])
        logits = target(full[None].to(device))[0, len(ids) - 1 :]
        p = logits.softmax(-1).cpu()
        ratio = p[torch.arange(k), proposal] / q[torch.arange(k), proposal]
        keep = (torch.rand(k) < ratio).int().cumprod(0).bool()
        n = int(keep.sum())
        ids = torch.cat([ids, proposal[:n]])
        if n < k:
            residual = (p[n] - q[n]).clamp(min=0)
            extra = torch.multinomial(residual + 1e-9, 1)
            rejected += 1
        else:
            extra = torch.multinomial(p[k], 1)
        ids = torch.cat([ids, extra])
        accepted += n
    return ids, accepted, rejected


device = "cuda" if torch.cuda.is_available() else "cpu"
target = Tiny(12, 16, seed=1).to(device).eval()
draft = Tiny(12, 4, seed=2).eval()
ids, yes, no = speculate(target, draft, [1, 2, 3], 12)
with torch.no_grad():
    full = target(ids.clone()[None].to(device))
score = full[0, :-1].log_softmax(-1).gather(1, ids[1:, None].to(device)).mean()
print(ids.tolist(), yes, no, score.item(), ids.float().mean() + torch.ones(1))
