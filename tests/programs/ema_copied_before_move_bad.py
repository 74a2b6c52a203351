"""Image classification engine: mixup/cutmix, label smoothing, EMA, AMP, cosine warm-up, checkpointing."""
import contextlib
import copy
import logging
import math
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

log = logging.getLogger("engine")


def one_hot(x, num_classes, on_value=1., off_value=0.):
    x = x.long().view(-1, 1)
    return torch.full((x.size()[0], num_classes), off_value, device=x.device).scatter_(1, x, on_value)


class Mixup:
    def __init__(self, alpha=0.8, cutmix_alpha=1.0, prob=1.0, smoothing=0.1, num_classes=4):
        self.alpha, self.cutmix_alpha, self.prob = alpha, cutmix_alpha, prob
        self.smoothing, self.num_classes = smoothing, num_classes
        self.rng = np.random.RandomState(0)

    def _target(self, y, lam):
        off = self.smoothing / self.num_classes
        on = 1. - self.smoothing + off
        y1 = one_hot(y, self.num_classes, on, off)
        y2 = one_hot(y.flip(0), self.num_classes, on, off)
        return y1 * lam + y2 * (1. - lam)

    def __call__(self, x, y):
        if self.rng.rand() < 0.5:
            lam = float(self.rng.beta(self.alpha, self.alpha))
            x = x * lam + x.flip(0) * (1 - lam)
        else:
            lam = float(self.rng.beta(self.cutmix_alpha, self.cutmix_alpha))
            h = int(x.size(2) * math.sqrt(1 - lam))
            x = x.clone()
            x[:, :, :h, :h] = x.flip(0)[:, :, :h, :h]
            lam = 1 - h * h / (x.size(2) * x.size(3))
        return x, self._target(y, lam)


class SoftTargetCrossEntropy(nn.Module):
    def forward(self, x, target):
        return torch.sum(-target * F.log_softmax(x, dim=-1), dim=-1).mean()


class ModelEma(nn.Module):
    def __init__(self, model, decay=0.99, device=None):
        super().__init__()
        self.module = copy.deepcopy(model)
        self.module.eval()
        self.decay = decay
        self.device = device
        if self.device is not None:
            self.module.to(device=device)

    def _update(self, model, update_fn):
        with torch.no_grad():
            for e, m in zip(self.module.state_dict().values(), model.state_dict().values()):
                if self.device is not None:
                    m = m.to(device=self.device)
                e.copy_(update_fn(e, m))

    def update(self, model):
        self._update(model, lambda e, m: self.decay * e + (1. - self.decay) * m)  # FAIL


def accuracy(output, target, topk=(1,)):
    maxk = max(topk)
    _, pred = output.topk(maxk, 1, True, True)
    pred = pred.t()
    correct = pred.eq(target.reshape(1, -1).expand_as(pred))
    return [correct[:k].reshape(-1).float().sum(0) * 100. / target.size(0) for k in topk]


class AverageMeter:
    def __init__(self):
        self.sum = self.count = 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(1, self.count)


def train_one_epoch(model, loader, optimizer, criterion, device, mixup=None, ema=None, autocast=contextlib.nullcontext):
    model.train()
    meter = AverageMeter()
    for images, target in loader:
        images, target = images.to(device), target.to(device)
        if mixup is not None:
            images, target = mixup(images, target)
        with autocast():
            output = model(images)
            loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if ema is not None:
            ema.update(model)
        meter.update(loss.item(), images.size(0))
    return meter.avg


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    top1 = AverageMeter()
    outputs = []
    for images, target in loader:
        images = images.to(device)
        target = target.to(device)
        output = model(images)
        acc1, acc2 = accuracy(output, target, (1, 2))
        top1.update(acc1.item(), images.size(0))
        outputs.append(output)
    return top1.avg, torch.cat(outputs).softmax(1).cpu().numpy()


def build_model(num_classes=4):
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, num_classes))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = TensorDataset(torch.rand(32, 3, 8, 8), torch.randint(0, 4, (32,)))
    loader = DataLoader(data, batch_size=8, shuffle=True, pin_memory=False)
    model = build_model()
    ema = ModelEma(model)
    model.to(device)  # CAUSE
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    sched = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1., (s + 1) / 2))
    for epoch in range(2):
        loss = train_one_epoch(model, loader, optimizer, SoftTargetCrossEntropy(), device, Mixup(), ema)
        sched.step()
        acc, probs = validate(ema.module, loader, device)
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "ckpt.pth")
            torch.save({"model": model.state_dict(), "ema": ema.module.state_dict(), "epoch": epoch}, path)
            ck = torch.load(path, map_location="cpu")
            model.load_state_dict(ck["model"])
        log.info("epoch %d: %.3f %.1f", epoch, loss, acc)
    print(probs.shape, 0 <= acc <= 100)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    main()
