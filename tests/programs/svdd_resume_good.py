import os
import tempfile

import torch
from torch import nn, optim


class BaseNet(nn.Module):
    def __init__(self, rep_dim=6):
        super().__init__()
        self.rep_dim = rep_dim
        self.f = nn.Sequential(nn.Linear(10, 16, bias=False), nn.LeakyReLU(), nn.Linear(16, rep_dim, bias=False))

    def forward(self, x):
        return self.f(x)


class DeepSVDDTrainer:
    def __init__(self, R, c, nu=0.1, objective='soft-boundary', lr=1e-3, n_epochs=2, device='cuda'):
        self.device = device
        self.objective = objective
        self.n_epochs, self.lr, self.nu = n_epochs, lr, nu
        self.R = torch.tensor([R], device=self.device)
        self.c = torch.tensor(c, device=self.device) if c is not None else None

    def init_center_c(self, loader, net, eps=0.1):
        n_samples = 0
        c = torch.zeros(net.rep_dim, device=self.device)
        net.eval()
        with torch.no_grad():
            for inputs, _ in loader:
                inputs = inputs.to(self.device)
                outputs = net(inputs)
                n_samples += outputs.shape[0]
                c += torch.sum(outputs, dim=0)
        c /= n_samples
        c[(abs(c) < eps) & (c < 0)] = -eps
        c[(abs(c) < eps) & (c > 0)] = eps
        return c

    def train(self, loader, net):
        net = net.to(self.device)
        optimizer = optim.Adam(net.parameters(), lr=self.lr, weight_decay=1e-6)
        if self.c is None:
            self.c = self.init_center_c(loader, net)
        net.train()
        for epoch in range(self.n_epochs):
            for inputs, _ in loader:
                inputs = inputs.to(self.device)
                optimizer.zero_grad()
                outputs = net(inputs)
                dist = torch.sum((outputs - self.c) ** 2, dim=1)
                if self.objective == 'soft-boundary':
                    scores = dist - self.R ** 2
                    loss = self.R ** 2 + (1 / self.nu) * torch.mean(torch.max(torch.zeros_like(scores), scores))
                else:
                    loss = torch.mean(dist)
                loss.mean().backward()
                optimizer.step()
            self.R.data = torch.quantile(torch.sqrt(dist.detach()), 1 - self.nu)[None]
            print('epoch', epoch, loss.mean().item())
        return net

    def test(self, loader, net):
        out = []
        net.eval()
        with torch.no_grad():
            for inputs, labels in loader:
                inputs = inputs.to(self.device)
                dist = torch.sum((net(inputs) - self.c) ** 2, dim=1)
                scores = dist - self.R ** 2 if self.objective == 'soft-boundary' else dist
                out += list(zip(labels.cpu().data.numpy().tolist(), scores.cpu().data.numpy().tolist()))
        return out


def save_model(path, trainer, net):
    torch.save({'R': trainer.R, 'c': trainer.c, 'net_dict': net.state_dict()}, path)


def load_model(path, trainer, net):
    model_dict = torch.load(path, map_location=trainer.device)
    trainer.R = model_dict['R']
    trainer.c = model_dict['c']
    net.load_state_dict(model_dict['net_dict'])
    return net


device = 'cuda' if torch.cuda.is_available() else 'cpu'
data = [(torch.randn(8, 10), torch.randint(0, 2, (8,))) for _ in range(3)]
trainer = DeepSVDDTrainer(0.0, None, device=device)
net = trainer.train(data, BaseNet())
with tempfile.TemporaryDirectory() as d:
    path = os.path.join(d, 'svdd.tar')
    save_model(path, trainer, net)
    fresh = DeepSVDDTrainer(0.0, None, device=device)
    net2 = load_model(path, fresh, BaseNet().to(device))
    print(len(fresh.test(data, net2)))
