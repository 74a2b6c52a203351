from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


@dataclass
class Config:
    vocab: int = 30
    dim: int = 8
    device: str = "cuda" if torch.cuda.is_available() else "cpu"
    batch_size: int = 4


def collate(samples):
    ids = pad_sequence([s[0] for s in samples], batch_first=True)
    labels = torch.tensor([s[1] for s in samples])
    return {"ids": ids, "mask": ids != 0, "labels": labels}


class Classifier(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.emb = nn.Embedding(cfg.vocab, cfg.dim, padding_idx=0)
        self.head = nn.Linear(cfg.dim, 2)

    def forward(self, ids, mask):
        h = self.emb(ids) * mask.unsqueeze(-1)  # FAIL
        return self.head(h.sum(1) / mask.sum(1, keepdim=True))


cfg = Config()
samples = [(torch.randint(1, cfg.vocab, (n,)), n % 2) for n in range(3, 11)]
loader = DataLoader(samples, batch_size=cfg.batch_size, collate_fn=collate)
model = Classifier(cfg).to(cfg.device)
opt = torch.optim.Adam(model.parameters())
for batch in loader:
    ids = batch["ids"].to(cfg.device)
    mask = batch["mask"]
    labels = batch["labels"].to(cfg.device)
    loss = nn.functional.cross_entropy(model(ids, mask), labels)  # CALL
    opt.zero_grad()
    loss.backward()
    opt.step()
print("ok")
