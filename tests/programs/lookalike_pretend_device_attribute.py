"""An object with .device, .to and .cpu that is no tensor at all."""
import torch
from torch import nn


class Session:
    def __init__(self, name):
        self.device = name
        self.log = []

    def to(self, name):
        self.log.append((self.device, name))
        self.device = name
        return self

    def cpu(self):
        return self.to("cpu")

    def numpy(self):
        return len(self.log)


class Screen:
    def __init__(self, w, h):
        self.size = (w, h)
        self.buffer = torch.zeros(h, w)

    def cuda(self):
        """not what you think: draws a curve"""
        self.buffer[0] = 1
        return self


s = Session("tablet")
s.to("phone").cpu()
screen = Screen(4, 3)
screen.cuda()
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Conv2d(1, 1, 3, padding=1).to(device)
x = screen.buffer[None, None].to(device)
out = net(x).detach()
print(s.numpy(), s.device, (screen.buffer + out.cpu()[0, 0]).shape, screen.buffer.numpy().sum())
