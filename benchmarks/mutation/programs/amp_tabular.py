"""Mixed-precision training of a tabular classifier."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Tabular(nn.Module):
    def __init__(self, cardinalities, n_continuous):
        super().__init__()
        self.embeds = nn.ModuleList([nn.Embedding(c, 4) for c in cardinalities])
        self.norm = nn.BatchNorm1d(n_continuous)
        self.layers = nn.Sequential(
            nn.Linear(4 * len(cardinalities) + n_continuous, 32),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Linear(32, 2),
        )

    def forward(self, cat, cont):
        parts = [embed(cat[:, i]) for i, embed in enumerate(self.embeds)]
        return self.layers(torch.cat([*parts, self.norm(cont)], dim=1))


def make_data(n):
    cat = torch.stack([torch.randint(0, 5, (n,)), torch.randint(0, 3, (n,))], dim=1)
    cont = torch.randn(n, 3)
    return TensorDataset(cat, cont, (cont[:, 0] + cat[:, 0] > 2).long())


def evaluate(model, loader, device):
    model.eval()
    hits = torch.tensor(0, device=device)
    with torch.no_grad():
        for cat, cont, y in loader:
            cat, cont, y = cat.to(device), cont.to(device), y.to(device)
            with torch.autocast(device_type=device.type, dtype=torch.bfloat16):
                hits += (model(cat, cont).argmax(1) == y).sum()
    return hits.item() / len(loader.dataset)


def main():
    torch.manual_seed(17)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train, valid = DataLoader(make_data(96), 24, shuffle=True), DataLoader(make_data(48), 24)
    model = Tabular([5, 3], 3).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 1.2]).to(device))
    scaler = torch.amp.GradScaler(device.type, enabled=False)

    for _epoch in range(3):
        model.train()
        for cat, cont, y in train:
            cat = cat.to(device)
            cont = cont.to(device)
            y = y.to(device)
            with torch.autocast(device_type=device.type, dtype=torch.bfloat16):
                loss = criterion(model(cat, cont), y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
    print("valid accuracy in range:", 0.0 <= evaluate(model, valid, device) <= 1.0)


if __name__ == "__main__":
    main()
