"""`vgg19(pretrained=True).features`: a part of a library's model is where the whole is, and moves with it or by itself."""

from __future__ import annotations

import pytest

from torchdev_lint.config import Config
from torchdev_lint.engine.check import check_source

HEAD = """
import lpips
import torch
from torch import nn
from torchvision import models
from torchmetrics import Accuracy, AUROC

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.randn(1, 3, 64, 64, device=device)


class Perceptual(nn.Module):
    def __init__(self):
        super().__init__()
        self.vgg = models.vgg19(pretrained=True).features[:16].eval()
        for p in self.vgg.parameters():
            p.requires_grad = False

    def forward(self, a, b):
        return (self.vgg(a) - self.vgg(b)).abs().mean()


net = models.resnet18()
"""

WRONG = [
    "print(models.vgg16(pretrained=True).features(x))",
    "vgg = models.vgg16().features\nprint(vgg(x))",
    "vgg = models.vgg16().features[:4]\nprint(vgg(x))",
    "vgg = models.vgg16()\nvgg.classifier.to(device)\nprint(vgg.features(x))",
    "print(Perceptual()(x, x))",
    "crit = Perceptual()\nprint(crit(x, x))",
    "print(net.layer1(x))",
    "net.fc = nn.Linear(512, 2).to(device)\nprint(net.layer1(x))",
    "crit = lpips.LPIPS(net='vgg')\nprint(crit(x, x))",
    "acc = Accuracy(task='binary')\nprint(acc(x, x))",
]

WRONG += [
    "net.fc = nn.Linear(512, 2).to(device)\nprint(net(x))",
    "net.layer1.to(device)\nprint(net(x))",
    "print(nn.Sequential(nn.Linear(64, 4).to(device), nn.Linear(4, 4)).cpu()(x))",
    "seq = nn.Sequential(nn.Linear(64, 4), nn.Linear(4, 4))\nfor part in seq.children():\n    part.eval()\nprint(seq(x))",
    "for part in net.children():\n    part.eval()\nprint(net(x))",
]

RIGHT = [
    "print(models.vgg16(pretrained=True).to(device).features(x))",
    "print(models.vgg16(pretrained=True).features.to(device)(x))",
    "vgg = models.vgg16().features.to(device)\nprint(vgg(x))",
    "vgg = models.vgg16().features\nvgg.to(device)\nprint(vgg(x))",
    "whole = models.vgg16()\nvgg = whole.features\nwhole.to(device)\nprint(vgg(x))",
    "vgg = models.vgg16().features[:4].to(device)\nprint(vgg(x))",
    "vgg = models.vgg16().features\nhead = vgg[:4]\nvgg.to(device)\nprint(head(x))",
    "whole = models.vgg16()\nwhole.features.to(device)\nprint(whole.features(x))",
    "print(Perceptual().to(device)(x, x))",
    "crit = Perceptual()\ncrit.to(device)\nprint(crit(x, x))",
    "print(net.avgpool(x))",
    "print(net.layer1(x.cpu()))",
    "net.to(device)\nprint(net.layer1(x))",
    "net.layer1.to(device)\nprint(net.layer1(x))",
    "net.layer1 = nn.Conv2d(3, 8, 3).to(device)\nprint(net.layer1(x))",
    "for part in net.children():\n    part.to(device)\nprint(net.layer1(x))",
    "for part in net.children():\n    part.to(device)\nprint(net(x))",
    "for name, part in net.named_children():\n    part.to(device)\nprint(net(x))",
    "for part in net.modules():\n    part.to(device)\nprint(net(x))",
    "seq = nn.Sequential(nn.Linear(64, 4), nn.Linear(4, 4))\nfor part in seq.children():\n    part.to(device)\nprint(seq(x))",
    "seq = nn.Sequential(nn.Linear(64, 4), nn.Linear(4, 4))\nfor part in seq:\n    part.to(device)\nprint(seq(x))",
    "crit = lpips.LPIPS(net='vgg').to(device)\nprint(crit(x, x))",
    "acc = Accuracy(task='binary').to(device)\nprint(acc(x, x))",
    "acc = AUROC(task='binary')\nprint(acc(x, x))",
]


def _told(code: str) -> list[str]:
    return [
        one.code
        for one in check_source(
            HEAD + code + "\n", "program.py", Config(off_by_default=frozenset({"TDV101"}))
        )
    ]


@pytest.mark.parametrize("code", WRONG)
def test_a_part_that_was_never_moved(code: str) -> None:
    assert set(_told(code)) == {"TDV001"}


@pytest.mark.parametrize("code", RIGHT)
def test_a_part_that_was_moved_or_is_not_known(code: str) -> None:
    assert _told(code) == []
