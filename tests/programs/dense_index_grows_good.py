"""dense retrieval: encode passages in chunks, keep an index, search with mips"""
from typing import Iterable, List, Tuple
import numpy as np
import torch
from torch import nn


class BagEncoder(nn.Module):
    def __init__(self, vocab: int = 50, dim: int = 8):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return nn.functional.normalize(self.proj(self.emb(ids)), dim=-1)


def chunks(seq: List, n: int) -> Iterable[List]:
    for i in range(0, len(seq), n):
        yield seq[i:i + n]


class Index:
    def __init__(self, dim: int, device):
        self.vectors = torch.empty(0, dim, device=device)
        self.ids: List[int] = []

    def add(self, vecs: torch.Tensor, ids: List[int]) -> None:
        self.vectors = torch.cat([self.vectors, vecs])
        self.ids.extend(ids)

    def search(self, q: torch.Tensor, k: int) -> Tuple[np.ndarray, List[List[int]]]:
        scores, idx = (q @ self.vectors.T).topk(k, dim=1)
        return scores.cpu().numpy(), [[self.ids[j] for j in row] for row in idx.tolist()]


class Retriever:
    def __init__(self, encoder: nn.Module, device: str):
        self.encoder = encoder.to(device).eval()
        self.device = device
        self.index = Index(8, device)

    @torch.no_grad()
    def encode(self, texts: List[str]) -> torch.Tensor:
        out = []
        for part in chunks(texts, 2):
            n = max(len(t) for t in part)
            ids = torch.zeros(len(part), n, dtype=torch.long)
            for r, t in enumerate(part):
                ids[r, :len(t)] = torch.tensor([ord(c) % 50 for c in t])
            out.append(self.encoder(ids.to(self.device)))
        return torch.cat(out)

    def build(self, passages: List[str]) -> "Retriever":
        for i, part in enumerate(chunks(passages, 3)):
            self.index.add(self.encode(part), list(range(i * 3, i * 3 + len(part))))
        return self

    def rerank(self, query: str, cands: List[int], prior: torch.Tensor) -> List[int]:
        s = self.encode([query]) @ self.index.vectors[cands].T
        s = s.squeeze(0) + prior[cands].to(self.device)
        return [cands[i] for i in s.argsort(descending=True).tolist()]


passages = ["the cat", "a dog barks", "green tea", "black coffee", "the dog"]
r = Retriever(BagEncoder(), "cuda" if torch.cuda.is_available() else "cpu").build(passages)
scores, ids = r.index.search(r.encode(["dog"]), 2)
print(scores.shape, ids, r.rerank("tea", ids[0], torch.linspace(0, 1, 5)))
