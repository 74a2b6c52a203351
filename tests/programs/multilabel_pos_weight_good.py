"""Multi-label tagging with positive weights."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

TAGS = ["red", "green", "blue", "dark"]


class ColorDataset(Dataset):
    def __init__(self, n=64):
        g = torch.Generator().manual_seed(0)
        self.rgb = torch.rand(n, 3, generator=g)
        dark = self.rgb.sum(1, keepdim=True) < 0.8
        self.tags = torch.cat([self.rgb > 0.7, dark], dim=1).float()

    def __len__(self):
        return len(self.rgb)

    def __getitem__(self, idx):
        return {"image": self.rgb[idx], "targets": self.tags[idx]}


def pos_weight_of(dataset):
    pos = dataset.tags.sum(0)
    return (len(dataset) - pos) / pos.clamp(min=1)


class Engine:
    def __init__(self, model, optimizer, criterion, device):
        self.model = model
        self.optimizer = optimizer
        self.criterion = criterion
        self.device = device

    def train(self, data_loader):
        self.model.train()
        final_loss = 0
        for data in data_loader:
            self.optimizer.zero_grad()
            inputs = data["image"].to(self.device)
            targets = data["targets"].to(self.device)
            outputs = self.model(inputs)
            loss = self.criterion(outputs, targets)
            loss.backward()
            self.optimizer.step()
            final_loss += loss.item()
        return final_loss / len(data_loader)


def run():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dataset = ColorDataset()
    model = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, len(TAGS)))
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    pos_weight = pos_weight_of(dataset)
    criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight).to(device)
    engine = Engine(model, optimizer, criterion, device)
    for epoch in range(3):
        print(epoch, round(engine.train(DataLoader(dataset, batch_size=16, shuffle=True)), 4))


if __name__ == "__main__":
    run()
