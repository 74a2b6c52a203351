import torch
import torch.nn.functional as F
from torch import nn


class Perceptual(nn.Module):
    def __init__(self, backbone, layers):
        super().__init__()
        self.backbone = backbone.eval().requires_grad_(False)
        self.features = {}
        for index in layers:
            self.backbone[index].register_forward_hook(self._keep(index))
        self.mean = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1)  # CAUSE
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1))

    def _keep(self, index):
        def hook(module, inputs, output):
            self.features[index] = output

        return hook

    def extract(self, image):
        self.features.clear()
        self.backbone((image - self.mean) / self.std)  # FAIL
        return dict(self.features)

    def forward(self, a, b):
        fa, fb = self.extract(a), self.extract(b)
        return sum(F.l1_loss(fa[k], fb[k]) for k in fa)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
backbone = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Conv2d(6, 6, 3), nn.ReLU())
criterion = Perceptual(backbone, [1, 3]).to(device)
network = nn.Conv2d(3, 3, 3, padding=1).to(device)
opt = torch.optim.Adam(network.parameters(), lr=1e-2)
for _ in range(3):
    clean = torch.rand(2, 3, 8, 8).to(device)
    noisy = clean + 0.1 * torch.randn_like(clean)
    loss = criterion(network(noisy), clean) + F.mse_loss(network(noisy), clean)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
