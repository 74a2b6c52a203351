import torch
from torch import nn

features = {}


def get_activation(name):
    def hook(model, input, output):
        features[name] = output.detach()

    return hook


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
net.to(device)
net[0].register_forward_hook(get_activation("hidden"))
bank = torch.zeros(0, 6)
for _ in range(3):
    net(torch.randn(5, 4, device=device))
    bank = torch.cat([bank, features["hidden"]])  # FAIL
sim = bank @ bank.t()
print(sim.shape)
