"""Anchor matching for a toy detector: positives, hard negatives, losses."""
import torch
import torch.nn.functional as F
from torch import nn


def iou_1d(a, b):
    lo = torch.maximum(a[:, None, 0], b[None, :, 0])
    hi = torch.minimum(a[:, None, 1], b[None, :, 1])
    inter = (hi - lo).clamp(min=0)
    union = (a[:, 1] - a[:, 0])[:, None] + (b[:, 1] - b[:, 0])[None] - inter
    return inter / union


def match(anchors, boxes, thr=0.3):
    iou = iou_1d(anchors, boxes)
    best, which = iou.max(dim=1)
    positive = best > thr
    idx = torch.arange(len(anchors), device=anchors.device)[positive]
    return idx, which[positive]


def hard_negatives(scores, idx, ratio=3):
    free = torch.ones(len(scores), dtype=torch.bool, device=scores.device)
    free[idx] = False
    k = min(int(free.sum()), ratio * max(len(idx), 1))
    return scores.masked_fill(~free, float("-inf")).topk(k).indices


class Detector(nn.Module):
    def __init__(self, n_anchors=10):
        super().__init__()
        centers = (torch.arange(n_anchors) + 0.5) / n_anchors
        self.register_buffer("anchors", torch.stack([centers - 0.1, centers + 0.1], dim=1))
        self.body = nn.Sequential(nn.Linear(16, 32), nn.ReLU())
        self.cls = nn.Linear(32, n_anchors)
        self.reg = nn.Linear(32, 2 * n_anchors)

    def forward(self, x):
        h = self.body(x)
        return self.cls(h), self.reg(h).view(len(x), -1, 2)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = Detector().to(device)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for step in range(3):
        x = torch.randn(1, 16, device=device)
        boxes = torch.tensor([[0.1, 0.35], [0.6, 0.8]], device=device)
        scores, offsets = net(x)
        idx, gt = match(net.anchors, boxes)
        neg = hard_negatives(scores[0], idx)
        cls_loss = F.softplus(-scores[0, idx]).sum() + F.softplus(scores[0, neg]).sum()
        reg_loss = F.smooth_l1_loss(offsets[0, idx], boxes[gt] - net.anchors[idx])
        loss = cls_loss / max(len(idx), 1) + reg_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(step, len(idx), f"{loss.item():.4f}")


if __name__ == "__main__":
    main()
