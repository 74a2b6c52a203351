"""Trainers with a base class: supervised and denoising."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class BaseTrainer:
    def __init__(self, model, lr=1e-2, device=None):
        if device is None:
            device = "cuda" if torch.cuda.is_available() else "cpu"
        self.device = torch.device(device)
        self.model = model.to(self.device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.step_count = 0

    def compute_loss(self, batch):
        raise NotImplementedError

    def fit(self, loader, epochs=1):
        for epoch in range(epochs):
            for batch in loader:
                loss = self.compute_loss(batch)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.step_count += 1
            print(type(self).__name__, epoch, round(loss.item(), 4))
        return self


class SupervisedTrainer(BaseTrainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.criterion = nn.CrossEntropyLoss()

    def compute_loss(self, batch):
        x, y = (b.to(self.device) for b in batch)
        return self.criterion(self.model(x), y)


class DenoisingTrainer(BaseTrainer):
    def __init__(self, *args, sigma=0.1, **kwargs):
        super().__init__(*args, **kwargs)
        self.sigma = sigma
        self.criterion = nn.MSELoss()

    def compute_loss(self, batch):
        x = batch[0].to(self.device)
        noisy = x + self.sigma * torch.randn_like(x)
        return self.criterion(self.model(noisy), x)


if __name__ == "__main__":
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(30, 5), torch.randint(0, 2, (30,)))
    loader = DataLoader(data, batch_size=10)
    SupervisedTrainer(nn.Linear(5, 2)).fit(loader)
    DenoisingTrainer(nn.Sequential(nn.Linear(5, 3), nn.Linear(3, 5)), sigma=0.2).fit(loader, epochs=2)
