import torch
from torch import nn

devices = ["cuda:0", "cuda:1"] if torch.cuda.device_count() > 1 else ["cpu", "cpu"]


class Pipe(nn.Module):
    def __init__(self, devices):
        super().__init__()
        self.devices = devices
        self.stages = nn.ModuleList([nn.Linear(4, 4).to(d) for d in devices])

    def forward(self, x):
        for stage, d in zip(self.stages, self.devices):
            x = stage(x.to(d)).relu()
        return x


net = Pipe(devices)
y = torch.zeros(3, 4, device=devices[-1])
nn.functional.mse_loss(net(torch.randn(3, 4)), y).backward()
