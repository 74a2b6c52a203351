"""word2vec: skip-gram with negative sampling, trained on a few lines and queried for neighbours."""
from collections import Counter

import torch
import torch.nn as nn

CORPUS = """the king and the queen rule the land
the farmer and the baker feed the land
the queen greets the baker and the king greets the farmer
bread for the king and corn for the queen""".split("\n") * 2

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class SkipGram(nn.Module):
    def __init__(self, vocab_size, dim):
        super().__init__()
        self.center = nn.Embedding(vocab_size, dim)
        self.context = nn.Embedding(vocab_size, dim)
        nn.init.uniform_(self.center.weight, -0.5 / dim, 0.5 / dim)
        nn.init.zeros_(self.context.weight)

    def forward(self, center, positive, negatives):
        c = self.center(center)
        pos = (c * self.context(positive)).sum(-1)
        neg = torch.bmm(self.context(negatives), c.unsqueeze(2)).squeeze(2)
        return -(nn.functional.logsigmoid(pos) + nn.functional.logsigmoid(-neg).sum(-1)).mean()


def build_vocab(lines):
    counts = Counter(word for line in lines for word in line.split())
    words = sorted(counts)
    return {w: i for i, w in enumerate(words)}, torch.tensor([counts[w] for w in words], dtype=torch.float)


def pairs(lines, vocab, window=2):
    out = []
    for line in lines:
        ids = [vocab[w] for w in line.split()]
        for i, c in enumerate(ids):
            out += [(c, ids[j]) for j in range(max(0, i - window), min(len(ids), i + window + 1)) if j != i]
    return torch.tensor(out)


torch.manual_seed(40)
vocab, counts = build_vocab(CORPUS)
noise = counts.pow(0.75).to(device)
noise = noise / noise.sum()
data = pairs(CORPUS, vocab)
net = SkipGram(len(vocab), 12).to(device)
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
first = last = None
for epoch in range(3):
    for batch in data[torch.randperm(len(data))].split(64):
        center, positive = batch[:, 0].to(device), batch[:, 1].to(device)
        negatives = torch.multinomial(noise, len(batch) * 3, replacement=True).view(len(batch), 3)
        loss = net(center, positive, negatives)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    last = loss.item()
    first = last if first is None else first
print("loss fell:", last < first)

words = list(vocab)
vectors = nn.functional.normalize(net.center.weight.detach(), dim=1)
query = torch.tensor([vocab["king"], vocab["bread"]]).to(vectors.device)
banned = torch.zeros(2, len(vocab), dtype=torch.bool, device=vectors.device)
banned.scatter_(1, query.unsqueeze(1), True)
scores = (vectors[query] @ vectors.T).masked_fill(banned, -1)
neighbours = [[words[i] for i in row] for row in scores.topk(2).indices.tolist()]
print(len(neighbours), all(len(n) == 2 for n in neighbours))
table = net.center.weight.detach().cpu().numpy()
print(table.shape)
