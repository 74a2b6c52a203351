import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

DEV = "cuda" if torch.cuda.is_available() else "cpu"


class MaskedConv2d(nn.Conv2d):
    def __init__(self, mask_type, *args, **kwargs):
        super().__init__(*args, **kwargs)
        assert mask_type in {"A", "B"}
        mask = torch.ones_like(self.weight)
        _, _, kh, kw = self.weight.size()
        mask[:, :, kh // 2, kw // 2 + (mask_type == "B"):] = 0
        mask[:, :, kh // 2 + 1:] = 0
        self.mask = mask  # CAUSE

    def forward(self, x):
        return F.conv2d(x, self.weight * self.mask, self.bias, self.stride, self.padding)  # FAIL


class GatedBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv = MaskedConv2d("B", c, 2 * c, 3, padding=1)
        self.res = nn.Conv2d(c, c, 1)

    def forward(self, x):
        a, b = self.conv(x).chunk(2, 1)
        return x + self.res(torch.tanh(a) * torch.sigmoid(b))


class PixelCNN(nn.Module):
    def __init__(self, c=8, blocks=2, levels=4):
        super().__init__()
        self.levels = levels
        self.inp = MaskedConv2d("A", 1, c, 3, padding=1)
        blks = []
        for _ in range(blocks):
            blks.append(GatedBlock(c))
        self.blocks = nn.Sequential(*blks)
        self.out = nn.Conv2d(c, levels, 1)

    def forward(self, x):
        h = self.inp(x)
        for b in self.blocks:
            h = b(h)
        return self.out(F.relu(h))

    @torch.no_grad()
    def sample(self, shape, temperature=1.0):
        img = torch.zeros(shape, device=self.out.weight.device)
        for i in range(shape[2]):
            for j in range(shape[3]):
                logits = self(img)[:, :, i, j] / temperature
                img[:, 0, i, j] = torch.multinomial(logits.softmax(1), 1).squeeze(1).float() / (self.levels - 1)
        return img


def bits_per_dim(model, loader):
    total, n = 0., 0
    for x in loader:
        x = x.to(DEV)
        target = (x * (model.levels - 1)).round().long().squeeze(1)
        total += F.cross_entropy(model(x), target, reduction="sum").item()
        n += target.numel()
    return total / n / 0.6931


data = (torch.rand(16, 1, 5, 5) * 3).round() / 3
model = PixelCNN().to(DEV)
opt = torch.optim.Adam(model.parameters())
for x in DataLoader(data, 8, shuffle=True):
    x = x.to(DEV)
    loss = F.cross_entropy(model(x), (x * 3).round().long().squeeze(1))
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item(), bits_per_dim(model.eval(), DataLoader(data, 8)), model.sample((2, 1, 5, 5)).mean().item())
