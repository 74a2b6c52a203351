"""Averages the weights of several saved runs into one model, and warm-starts a bigger one."""
import io

import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inp = nn.Linear(9, width)
        self.out = nn.Linear(width, 1)
        self.register_buffer("baseline", torch.zeros(1))

    def forward(self, x):
        return self.out(torch.relu(self.inp(x))) + self.baseline


class Store:
    def __init__(self):
        self.files = {}

    def save(self, name, **content):
        buffer = io.BytesIO()
        torch.save(content, buffer)
        self.files[name] = buffer.getvalue()

    def load(self, name, **options):
        return torch.load(io.BytesIO(self.files[name]), weights_only=True, **options)


def train_one(seed, x, y, device):
    torch.manual_seed(seed)
    model = Scorer(8).to(device)
    model.baseline.fill_(y.mean().item())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(6):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model, loss.detach()


def soup(store, names):
    total = None
    for name in names:
        state = store.load(name, map_location="cpu")["state"]
        if total is None:
            total = {k: torch.zeros_like(v) for k, v in state.items()}
        for k, v in state.items():
            total[k] += v / len(names)
    return total


def widen(store, name, width, device):
    saved = store.load(name, map_location=device)
    big = Scorer(width).to(device)
    with torch.no_grad():
        small = saved["state"]["inp.weight"]
        big.inp.weight[: len(small)] = small
        big.baseline.copy_(saved["state"]["baseline"])
        big.inp.bias.copy_(torch.cat([saved["state"]["inp.bias"], torch.zeros(width - len(small), device=device)]))
    return big, saved["loss"]


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    x = torch.randn(60, 9).to(device)
    y = x[:, :2].prod(dim=1, keepdim=True)
    store, names = Store(), []
    for seed in range(3):
        model, loss = train_one(seed, x, y, device)
        store.save(f"run{seed}", state=model.state_dict(), loss=loss)
        names.append(f"run{seed}")
    averaged = Scorer(8)
    averaged.load_state_dict(soup(store, names))
    averaged.to(device)
    big, old_loss = widen(store, "run0", 12, device)
    losses = torch.stack([nn.functional.mse_loss(m(x), y) for m in (averaged, big)] + [old_loss])
    print("finite:", losses.isfinite().tolist())
    on_disk = torch.load(io.BytesIO(store.files["run1"]), map_location="cpu")
    print(sorted(on_disk), on_disk["state"]["inp.weight"].numpy().shape)


if __name__ == "__main__":
    main()
