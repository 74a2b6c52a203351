"""Text retrieval: documents are embedded once, queries are compared with all of them."""
import hashlib

import torch
from torch import nn
from torch.nn.functional import normalize

DOCS = [
    "how to bake bread at home",
    "training neural networks on a laptop",
    "the history of the roman empire",
    "sourdough starter for beginners",
    "gradient descent explained",
]


def bucket(word, n):
    return int(hashlib.md5(word.encode()).hexdigest(), 16) % n


class HashEncoder(nn.Module):
    def __init__(self, n_buckets=64, dim=16):
        super().__init__()
        self.n_buckets = n_buckets
        self.table = nn.EmbeddingBag(n_buckets, dim)

    def forward(self, ids, offsets):
        return normalize(self.table(ids, offsets), dim=-1)


class SearchEngine:
    def __init__(self, encoder, batch_size=2):
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.encoder = encoder.to(self.device)
        self.encoder.eval()
        self.batch_size = batch_size
        self.docs, self.vectors = [], None

    @torch.no_grad()
    def encode(self, texts):
        out = []
        for i in range(0, len(texts), self.batch_size):
            ids, offsets = [], []
            for text in texts[i:i + self.batch_size]:
                offsets.append(len(ids))
                ids.extend(bucket(w, self.encoder.n_buckets) for w in text.split())
            ids = torch.tensor(ids, device=self.device)
            offsets = torch.tensor(offsets, device=self.device)
            out.append(self.encoder(ids, offsets))
        return torch.cat(out)

    def index(self, docs):
        self.docs = list(docs)
        self.vectors = self.encode(docs).cpu()  # keep GPU memory free  # CAUSE
        return self

    def search(self, query, k=2):
        q = self.encode([query])
        scores = q @ self.vectors.T  # FAIL
        top = scores[0].topk(k)
        return [(self.docs[i], s) for i, s in zip(top.indices.tolist(), top.values.tolist())]


if __name__ == "__main__":
    torch.manual_seed(0)
    engine = SearchEngine(HashEncoder()).index(DOCS)
    for q in ("bread for beginners", "neural networks"):
        for doc, score in engine.search(q):
            print(f"{score:6.3f}  {doc}")
