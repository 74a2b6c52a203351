"""Binary segmentation of discs with a small U-Net and a dice loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv2d(c_in, c_out, 3, padding=1, bias=False),
            nn.GroupNorm(2, c_out),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.block(x)


class UNet(nn.Module):
    def __init__(self, widths=(8, 16)):
        super().__init__()
        self.downs = nn.ModuleList()
        self.ups = nn.ModuleList()
        c = 1
        for w in widths:
            self.downs.append(DoubleConv(c, w))
            c = w
        self.bottom = DoubleConv(c, 2 * c)
        for w in reversed(widths):
            self.ups.append(nn.ConvTranspose2d(2 * w, w, 2, stride=2))
            self.ups.append(DoubleConv(2 * w, w))
        self.final = nn.Conv2d(widths[0], 1, 1)

    def forward(self, x):
        skips = []
        for down in self.downs:
            x = down(x)
            skips.append(x)
            x = F.max_pool2d(x, 2)
        x = self.bottom(x)
        for i in range(0, len(self.ups), 2):
            x = self.ups[i](x)
            x = self.ups[i + 1](torch.cat([skips.pop(), x], dim=1))
        return self.final(x)


class DiceBCELoss(nn.Module):
    def __init__(self, pos_weight=3.0, smooth=1.0):
        super().__init__()
        self.bce = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([pos_weight]))
        self.smooth = smooth

    def forward(self, logits, mask):
        p = torch.sigmoid(logits)
        inter = (p * mask).sum(dim=(1, 2, 3))
        dice = (2 * inter + self.smooth) / (p.sum(dim=(1, 2, 3)) + mask.sum(dim=(1, 2, 3)) + self.smooth)
        return self.bce(logits, mask) + 1 - dice.mean()


def discs(n, size=16):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    centre = torch.randint(4, size - 4, (n, 2, 1, 1))
    mask = ((yy - centre[:, 0]) ** 2 + (xx - centre[:, 1]) ** 2 <= 9).float().unsqueeze(1)
    return mask + 0.2 * torch.randn_like(mask), mask


def iou(logits, mask, threshold):
    pred = torch.sigmoid(logits) > threshold
    truth = mask.bool()
    return ((pred & truth).sum() / (pred | truth).sum().clamp(min=1)).item()


def main():
    torch.manual_seed(10)
    if torch.cuda.is_available():
        device = torch.device("cuda")
    else:
        device = torch.device("cpu")
    model = UNet()
    loss_fn = DiceBCELoss()
    model.to(device)
    loss_fn.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    images, masks = discs(24)
    for _ in range(2):
        for image, mask in zip(images.split(8), masks.split(8)):
            image, mask = image.to(device), mask.to(device)
            loss = loss_fn(model(image), mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        image, mask = discs(4)
        logits = model(image.to(device))
        scores = [iou(logits, mask.to(device), t) for t in (0.3, 0.5)]
        overlay = (image + logits.cpu()).numpy()
    print("scores", len(scores), all(0 <= s <= 1 for s in scores))
    print(overlay.shape)


if __name__ == "__main__":
    main()
