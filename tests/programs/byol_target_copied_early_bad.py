import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def loss_fn(x, y):
    x = F.normalize(x, dim=-1, p=2)
    y = F.normalize(y, dim=-1, p=2)
    return 2 - 2 * (x * y).sum(dim=-1)


class RandomApply(nn.Module):
    def __init__(self, fn, p):
        super().__init__()
        self.fn = fn
        self.p = p

    def forward(self, x):
        if random.random() > self.p:
            return x
        return self.fn(x)


class EMA:
    def __init__(self, beta):
        self.beta = beta

    def update_average(self, old, new):
        if old is None:
            return new
        return old * self.beta + (1 - self.beta) * new


def update_moving_average(ema_updater, ma_model, current_model):
    for current_params, ma_params in zip(current_model.parameters(), ma_model.parameters()):
        old_weight, up_weight = ma_params.data, current_params.data
        ma_params.data = ema_updater.update_average(old_weight, up_weight)


def MLP(dim, projection_size, hidden_size=32):
    return nn.Sequential(
        nn.Linear(dim, hidden_size), nn.BatchNorm1d(hidden_size), nn.ReLU(inplace=True), nn.Linear(hidden_size, projection_size)
    )


class ConvNet(nn.Module):
    def __init__(self, out=16):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, out, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1))

    def forward(self, x):
        return self.features(x).flatten(1)  # FAIL


class NetWrapper(nn.Module):
    def __init__(self, net, dim, projection_size):
        super().__init__()
        self.net = net
        self.projector = MLP(dim, projection_size)

    def forward(self, x):
        return self.projector(self.net(x))


class BYOLLearner:
    """Not a module: keeps the online and the target network side by side."""

    def __init__(self, encoder, device, projection_size=8, decay=0.99):
        self.device = device
        self.augment1 = RandomApply(lambda x: x + 0.1 * torch.randn_like(x), 0.8)
        self.augment2 = RandomApply(lambda x: x.flip(-1), 0.5)
        online = NetWrapper(encoder, 16, projection_size)
        self.target = copy.deepcopy(online)  # CAUSE
        self.online = online.to(device)
        self.predictor = MLP(projection_size, projection_size).to(device)
        for p in self.target.parameters():
            p.requires_grad = False
        self.ema = EMA(decay)

    def parameters(self):
        return list(self.online.parameters()) + list(self.predictor.parameters())

    def step_average(self):
        update_moving_average(self.ema, self.target, self.online)

    def loss(self, x):
        one, two = self.augment1(x), self.augment2(x)
        pred_one, pred_two = self.predictor(self.online(one)), self.predictor(self.online(two))
        with torch.no_grad():
            proj_one, proj_two = self.target(one), self.target(two)
        return (loss_fn(pred_one, proj_two.detach()) + loss_fn(pred_two, proj_one.detach())).mean()


def main():
    random.seed(1)
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    learner = BYOLLearner(ConvNet(), device)
    opt = torch.optim.Adam(learner.parameters(), lr=3e-4)
    loader = DataLoader(TensorDataset(torch.rand(24, 3, 12, 12)), batch_size=8, shuffle=True)
    for epoch in range(2):
        for (images,) in loader:
            loss = learner.loss(images.to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
            learner.step_average()
        print(f"epoch {epoch} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
