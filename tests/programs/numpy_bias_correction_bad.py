"""Fits a linear readout whose offsets come from a calibration done in numpy."""
import numpy as np
import torch
from torch import nn

rng_offset = np.random.uniform(-1, 1, size=(4,))
gain = np.ones(4)
dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Readout(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(10, 4)

    def forward(self, spikes):
        return self.w(spikes)


def calibrated(y):
    offset = torch.tensor(rng_offset, dtype=torch.float32)  # CAUSE
    return y * torch.tensor(gain, dtype=torch.float32, device=y.device) - offset  # FAIL


net = Readout().to(dev)
for trial in range(2):
    spikes = (torch.rand(16, 10) > 0.7).float().to(dev)
    print(trial, calibrated(net(spikes)).pow(2).mean().item())  # CALL
