"""SiamFC-like tracker on synthetic frames: exemplar crop, correlation, hann window, scale pyramid."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3))

    def forward(self, x):
        return self.features(x)


class SiamFC(nn.Module):
    def __init__(self, scale=0.01):
        super().__init__()
        self.backbone = Backbone()
        self.scale = scale

    def forward(self, z, x):
        z, x = self.backbone(z), self.backbone(x)
        n, c, h, w = x.shape
        out = F.conv2d(x.view(1, n * c, h, w), z, groups=n) if z.size(0) != n or n == 1 else F.conv2d(x.reshape(1, n * c, h, w), z, groups=n)
        return out.view(n, -1, out.shape[-2], out.shape[-1]) * self.scale


class BalancedLoss(nn.Module):
    def __init__(self, neg_weight=1.0):
        super().__init__()
        self.neg_weight = neg_weight

    def forward(self, input, target):
        pos, neg = target == 1, target == 0
        weight = target.new_zeros(target.size())
        weight[pos] = 1 / pos.sum().float().clamp(min=1)
        weight[neg] = self.neg_weight / neg.sum().float().clamp(min=1)
        return F.binary_cross_entropy_with_logits(input, target, weight / weight.sum(), reduction="sum")


class Tracker:
    def __init__(self, **kw):
        self.cfg = dict(exemplar=8, search=16, influence=0.2, lr=1e-3)
        self.cfg.update(kw)
        self.cuda = torch.cuda.is_available()
        self.device = torch.device("cuda:0" if self.cuda else "cpu")
        self.net = SiamFC().to(self.device)
        self.criterion = BalancedLoss()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=self.cfg["lr"], momentum=0.9)
        self.lr_scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=0.9)

    def crop(self, frame, center, size):
        half = size // 2
        padded = np.pad(frame, half + 1, mode="edge")
        y, x = (int(v) + half + 1 for v in center)
        return torch.from_numpy(padded[y - half:y - half + size, x - half:x - half + size][None, None]).float()

    @torch.no_grad()
    def init(self, frame, center):
        self.net.eval()
        self.center = np.array(center, dtype=float)
        z = self.crop(frame, center, self.cfg["exemplar"]).to(self.device)
        self.kernel = self.net.backbone(z)
        n = self.cfg["search"] - self.cfg["exemplar"] + 1
        win = np.outer(np.hanning(n), np.hanning(n))
        self.window = torch.from_numpy(win / win.sum()).float()

    @torch.no_grad()
    def update(self, frame):
        x = self.crop(frame, self.center, self.cfg["search"]).to(self.device)
        response = F.conv2d(self.net.backbone(x), self.kernel)[0, 0]
        response = (response - response.min()) / (response.max() - response.min() + 1e-6)
        response = (1 - self.cfg["influence"]) * response + self.cfg["influence"] * self.window  # FAIL
        flat = response.argmax().item()
        loc = np.array(divmod(flat, response.size(1)))
        self.center += loc - (np.array(response.shape) - 1) / 2
        return self.center

    def labels(self, size):
        r = np.arange(size) - (size - 1) / 2
        dist = np.abs(r[:, None]) + np.abs(r[None])
        lab = np.where(dist <= 2, 1.0, np.where(dist < 4, 0.5, 0.0))
        return torch.from_numpy(lab[None, None]).to(self.device).float()

    def train_step(self, z, x):
        self.net.train()
        z, x = z.to(self.device), x.to(self.device)
        out = self.net(z, x)
        loss = self.criterion(out, self.labels(out.shape[-1]).expand_as(out))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item(), out.detach().cpu().numpy().max()


def frame_at(t):
    yy, xx = np.mgrid[0:32, 0:32]
    return np.exp(-((yy - 12 - t) ** 2 + (xx - 14 - t) ** 2) / 8).astype(np.float32)


if __name__ == "__main__":
    tracker = Tracker(influence=0.3)
    for i in range(2):
        f = frame_at(i)
        print(tracker.train_step(tracker.crop(f, (12 + i, 14 + i), 8), tracker.crop(f, (12 + i, 14 + i), 16)))
    tracker.lr_scheduler.step()
    tracker.init(frame_at(0), (12, 14))
    for t in range(1, 3):
        print(tracker.update(frame_at(t)))
