import random
import torch
import torch.nn as nn
import torch.nn.functional as F


class TransE(nn.Module):
    def __init__(self, entity_count, relation_count, device, norm=1, dim=10, margin=1.0):
        super(TransE, self).__init__()
        self.device = device
        self.norm, self.dim = norm, dim
        self.entities_emb = self._init(entity_count)
        self.relations_emb = self._init(relation_count)
        self.criterion = nn.MarginRankingLoss(margin=margin, reduction='none')

    def _init(self, count):
        emb = nn.Embedding(num_embeddings=count, embedding_dim=self.dim)
        r = 6 / self.dim ** .5
        emb.weight.data.uniform_(-r, r)
        return emb

    def forward(self, positive, negative):
        pos = self._distance(positive)
        neg = self._distance(negative)
        target = torch.tensor([-1], dtype=torch.long, device=self.device)
        return self.criterion(pos, neg, target), pos, neg

    def predict(self, triplets):
        return self._distance(triplets)

    def _distance(self, t):
        h, r, tl = t[:, 0], t[:, 1], t[:, 2]
        return (self.entities_emb(h) + self.relations_emb(r) - self.entities_emb(tl)).norm(p=self.norm, dim=1)


def hit_at_k(predictions, ground_truth, device, k=3):
    zero_tensor = torch.tensor([0], device=device)
    one_tensor = torch.tensor([1], device=device)
    _, indices = predictions.topk(k=k, largest=False)
    return torch.where(indices == ground_truth, one_tensor, zero_tensor).sum().item()


def mrr(predictions, ground_truth):
    indices = predictions.argsort()
    return (1.0 / (indices == ground_truth).nonzero()[:, 1].float().add(1.0)).sum().item()


def corrupt(batch, n_ent):
    head_or_tail = torch.randint(high=2, size=(len(batch),))
    random_entities = torch.randint(high=n_ent, size=(len(batch),))
    broken_heads = torch.where(head_or_tail == 1, random_entities, batch[:, 0])
    broken_tails = torch.where(head_or_tail == 0, random_entities, batch[:, 2])
    return torch.stack((broken_heads, batch[:, 1], broken_tails), dim=1)


def test(model, triples, n_ent, device):
    entity_ids = torch.arange(end=n_ent, device=device).unsqueeze(0)
    hits = rr = 0
    for s in range(0, len(triples), 4):
        chunk = triples[s:s + 4].to(device)
        head, relation, tail = chunk[:, 0], chunk[:, 1], chunk[:, 2]
        bs = head.size(0)
        all_entities = entity_ids.repeat(bs, 1)
        heads = head.reshape(-1, 1).repeat(1, n_ent)
        relations = relation.reshape(-1, 1).repeat(1, n_ent)
        trip = torch.stack((heads, relations, all_entities), dim=2).reshape(-1, 3)
        pred = model.predict(trip).reshape(bs, -1)
        hits += hit_at_k(pred, tail.reshape(-1, 1), device)
        rr += mrr(pred, tail.reshape(-1, 1))
    return hits / len(triples), rr / len(triples)


def main():
    random.seed(1)
    n_ent, n_rel = 20, 4
    triples = torch.tensor([[random.randrange(n_ent), random.randrange(n_rel), random.randrange(n_ent)] for _ in range(24)])
    device = torch.device('cuda') if torch.cuda.is_available() else torch.device('cpu')
    model = TransE(n_ent, n_rel, device).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(2):
        for i in range(0, 24, 8):
            positive = triples[i:i + 8]
            negative = corrupt(positive, n_ent)
            optimizer.zero_grad()
            loss, pd, nd = model(positive.to(device), negative.to(device))
            loss.mean().backward()
            optimizer.step()
        model.entities_emb.weight.data = F.normalize(model.entities_emb.weight.data, dim=1)
    print(test(model, triples, n_ent, device))


main()
