import os
import tempfile
from collections import OrderedDict

import torch
import torch.nn as nn


class VelocityNet(nn.Module):
    def __init__(self, dim=2, hidden=32):
        super().__init__()
        self.inp = nn.Linear(dim + 1, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, dim)

    def forward(self, x, t):
        h = torch.tanh(self.inp(torch.cat([x, t], -1)))
        return self.out(torch.tanh(self.mid(h)) + h)


class ModelEMA:
    def __init__(self, model, decay=0.95):
        self.decay = decay
        self.num_updates = 0
        self.shadow = OrderedDict((k, v.detach().clone()) for k, v in model.state_dict().items())

    @torch.no_grad()
    def update(self, model):
        self.num_updates += 1
        d = min(self.decay, (1 + self.num_updates) / (10 + self.num_updates))
        for k, v in model.state_dict().items():
            self.shadow[k].mul_(d).add_(v, alpha=1 - d)  # FAIL

    def copy_to(self, model):
        model.load_state_dict(self.shadow)

    def state_dict(self):
        return {"decay": self.decay, "num_updates": self.num_updates, "shadow": self.shadow}

    def load_state_dict(self, state):
        self.decay = state["decay"]
        self.num_updates = state["num_updates"]
        self.shadow = state["shadow"]  # CAUSE


def target_samples(n, device):
    corner = torch.randint(0, 2, (n, 2), device=device) * 2.0 - 1.0
    return corner + 0.1 * torch.randn(n, 2, device=device)


class FlowTrainer:
    def __init__(self, workdir, device):
        self.workdir = workdir
        self.device = device
        self.net = VelocityNet().to(device)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=3e-3)
        self.ema = ModelEMA(self.net)
        self.step = 0

    @property
    def path(self):
        return os.path.join(self.workdir, "last.pt")

    def save(self):
        torch.save(
            {"net": self.net.state_dict(), "opt": self.opt.state_dict(), "ema": self.ema.state_dict(), "step": self.step},
            self.path,
        )

    def resume(self):
        ckpt = torch.load(self.path, map_location="cpu")  # CAUSE
        self.net.load_state_dict(ckpt["net"])
        self.opt.load_state_dict(ckpt["opt"])
        self.ema.load_state_dict(ckpt["ema"])
        self.step = ckpt["step"]
        return self

    def train(self, steps, batch=32):
        for _ in range(steps):
            x1 = target_samples(batch, self.device)
            x0 = torch.randn_like(x1)
            t = torch.rand(batch, 1, device=self.device)
            v = self.net((1 - t) * x0 + t * x1, t)
            loss = (v - (x1 - x0)).pow(2).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.ema.update(self.net)
            self.step += 1
        return loss.item()

    @torch.no_grad()
    def sample(self, n, n_euler=8):
        net = VelocityNet().to(self.device)
        self.ema.copy_to(net)
        x = torch.randn(n, 2, device=self.device)
        for i in range(n_euler):
            t = torch.full((n, 1), i / n_euler, device=self.device)
            x = x + net(x, t) / n_euler
        return x


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with tempfile.TemporaryDirectory() as workdir:
        first = FlowTrainer(workdir, device)
        print("first run", round(first.train(6), 4))
        first.save()
        second = FlowTrainer(workdir, device).resume()
        print("second run", round(second.train(6), 4), "step", second.step)
        print("spread", round(second.sample(16).std().item(), 3))


if __name__ == "__main__":
    main()
