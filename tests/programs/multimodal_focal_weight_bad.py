import copy
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

CONFIG = {
    "train": {"bs": 4, "epochs": 1, "lr": 1e-3, "ema": 0.9},
    "model": {"dim": 8, "classes": 3},
    "device": "cuda" if torch.cuda.is_available() else "cpu",
}


class Pairs(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, idx):
        return {"image": torch.rand(3, 6, 6), "text": torch.randint(0, 30, (5,)), "meta": {"age": torch.rand(2)}, "label": idx % 3}


class Fusion(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.img = nn.Sequential(nn.Conv2d(3, dim, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.txt = nn.EmbeddingBag(30, dim)
        self.meta = nn.Linear(2, dim)
        self.out = nn.Linear(3 * dim, classes)

    def forward(self, batch):
        parts = [self.img(batch["image"]), self.txt(batch["text"]), self.meta(batch["meta"]["age"])]
        return self.out(torch.cat(parts, dim=1))


def move(obj, device):
    if torch.is_tensor(obj):
        return obj.to(device)
    if isinstance(obj, dict):
        return {k: move(v, device) for k, v in obj.items()}
    if isinstance(obj, (list, tuple)):
        return [move(v, device) for v in obj]
    return obj


class EMA:
    def __init__(self, model, decay):
        self.model = copy.deepcopy(model).eval()
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for e, p in zip(self.model.state_dict().values(), model.state_dict().values()):
            e.copy_(e * self.decay + (1.0 - self.decay) * p)


def focal(logits, target, weight, gamma=2.0):
    logp = logits.log_softmax(-1).gather(1, target[:, None]).squeeze(1)
    return (-(1 - logp.exp()) ** gamma * logp * weight[target]).mean()  # FAIL


def run(cfg):
    device = cfg["device"]
    loader = DataLoader(Pairs(), batch_size=cfg["train"]["bs"], shuffle=True)
    model = Fusion(**cfg["model"]).to(device)
    ema = EMA(model, cfg["train"]["ema"])
    counts = torch.bincount(torch.tensor([b["label"] for b in map(Pairs().__getitem__, range(12))]), minlength=3).float()
    weight = counts.sum() / (3 * counts)  # CAUSE
    opt = torch.optim.Adam(model.parameters(), lr=cfg["train"]["lr"])
    for epoch in range(cfg["train"]["epochs"]):
        for batch in loader:
            batch = move(batch, device)
            loss = focal(model(batch), batch["label"], weight)
            opt.zero_grad()
            loss.backward()
            opt.step()
            ema.update(model)
        print(epoch, loss.item())
    with torch.no_grad():
        hits = sum((ema.model(move(b, device)).argmax(1).cpu() == b["label"]).sum().item() for b in loader)
    print("acc", hits / 12)


run(CONFIG)
