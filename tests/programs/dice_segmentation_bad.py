"""Segmentation of rectangles with a little U-Net, Dice loss and per-class weights."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, n_channels=1, n_classes=3, w=4):
        super().__init__()
        self.down1, self.down2 = block(n_channels, w), block(w, 2 * w)
        self.up = nn.ConvTranspose2d(2 * w, w, 2, stride=2)
        self.fuse = block(2 * w, w)
        self.out = nn.Conv2d(w, n_classes, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        return self.out(self.fuse(torch.cat([a, self.up(b)], 1)))


class DiceLoss(nn.Module):
    """1 - weighted mean of the classes' Dice scores"""

    def __init__(self, n_classes, weights=None):
        super().__init__()
        self.n_classes = n_classes
        if weights is None:
            weights = torch.ones(n_classes)
        self.weights = weights / weights.sum()  # CAUSE

    def forward(self, logits, target):
        p = logits.softmax(1)
        t = F.one_hot(target, self.n_classes).permute(0, 3, 1, 2).float()
        inter = (p * t).sum((0, 2, 3))
        union = p.sum((0, 2, 3)) + t.sum((0, 2, 3))
        dice = (2 * inter + 1e-6) / (union + 1e-6)
        return 1 - (dice * self.weights).sum()  # FAIL


def make_batch(n, size, g):
    img, msk = torch.zeros(n, 1, size, size), torch.zeros(n, size, size, dtype=torch.long)
    for k in range(n):
        for c in (1, 2):
            y, x = torch.randint(0, size - 4, (2,), generator=g).tolist()
            img[k, 0, y:y + 4, x:x + 4] = c / 2
            msk[k, y:y + 4, x:x + 4] = c
    return img + 0.05 * torch.randn(img.shape, generator=g), msk


def main():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = UNet().to(device)
    loss_fn = DiceLoss(3, weights=torch.tensor([0.2, 1.0, 1.0])).to(device)
    opt = torch.optim.Adam(net.parameters(), 1e-2)
    for step in range(3):
        img, msk = make_batch(4, 12, g)
        img, msk = img.to(device), msk.to(device)
        loss = loss_fn(net(img), msk) + F.cross_entropy(net(img), msk)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(step, f"{loss.item():.4f}")


if __name__ == "__main__":
    main()
