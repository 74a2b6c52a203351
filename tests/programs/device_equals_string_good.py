"""Sentence embeddings with a helper that moves inputs only if they are not there yet."""
import torch
from torch import nn


class MeanEmbedder(nn.Module):
    def __init__(self, vocab=128, dim=12):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.out = nn.Linear(dim, dim)

    def forward(self, ids):
        mask = (ids != 0).unsqueeze(-1)
        summed = (self.emb(ids) * mask).sum(1)
        return self.out(summed / mask.sum(1).clamp(min=1))


class SentenceModel:
    def __init__(self):
        self.target = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.net = MeanEmbedder().to(self.target)
        self.net.eval()

    def tokenize(self, sentences, length=6):
        ids = torch.zeros(len(sentences), length, dtype=torch.long)
        for row, s in enumerate(sentences):
            for col, ch in enumerate(s[:length]):
                ids[row, col] = ord(ch)
        return ids

    def encode(self, sentences):
        if isinstance(sentences, str):
            sentences = [sentences]
        ids = self.tokenize(sentences)
        if ids.device.type == "cpu":
            ids = ids.to(self.target)
        with torch.no_grad():
            return self.net(ids).cpu()

    def similarity(self, a, b):
        va, vb = self.encode([a, b])
        return torch.cosine_similarity(va, vb, dim=0).item()


def main():
    torch.manual_seed(0)
    sm = SentenceModel()
    for a, b in [("hello", "hallo"), ("hello", "bye"), ("x", "x")]:
        print(f"{a!r:8} {b!r:8} {sm.similarity(a, b):+.3f}")


main()
