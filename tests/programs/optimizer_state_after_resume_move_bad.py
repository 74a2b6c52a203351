import io

import torch
from torch import nn, optim

device = "cuda" if torch.cuda.is_available() else "cpu"


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(6, 2), nn.Linear(2, 6)

    def forward(self, x):
        return self.dec(torch.relu(self.enc(x)))  # FAIL


def first_phase():
    net = Autoencoder()
    opt = optim.Adam(net.parameters(), lr=1e-3)
    nn.functional.mse_loss(net(torch.randn(3, 6)), torch.randn(3, 6)).backward()
    opt.step()
    buf = io.BytesIO()
    torch.save({"net": net.state_dict(), "opt": opt.state_dict()}, buf)
    buf.seek(0)
    return buf


ckpt = torch.load(first_phase(), map_location="cpu")
net = Autoencoder()  # CAUSE
net.load_state_dict(ckpt["net"])
opt = optim.Adam(net.parameters(), lr=1e-3)
opt.load_state_dict(ckpt["opt"])
noise = torch.randn(6, device=device)
x = torch.rand(4, 6, device=device)
loss = nn.functional.mse_loss(net(x + 0.1 * noise), x)  # CAUSE
loss.backward()
opt.step()
