import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def make_priors(sizes, scales):
    out = []
    for n, s in zip(sizes, scales):
        for i in range(n):
            for j in range(n):
                out.append([(j + 0.5) / n, (i + 0.5) / n, s, s])
                out.append([(j + 0.5) / n, (i + 0.5) / n, s * math.sqrt(2), s / math.sqrt(2)])
    return torch.tensor(out)


def to_corners(b):
    return torch.cat([b[..., :2] - b[..., 2:] / 2, b[..., :2] + b[..., 2:] / 2], -1)


def iou(a, b):
    lt = torch.max(a[:, None, :2], b[None, :, :2])  # FAIL
    rb = torch.min(a[:, None, 2:], b[None, :, 2:])
    inter = (rb - lt).clamp(min=0).prod(-1)
    area = lambda x: (x[:, 2:] - x[:, :2]).prod(-1)
    return inter / (area(a)[:, None] + area(b)[None] - inter)


def match(priors, boxes, labels, thr=0.5):
    ov = iou(to_corners(priors), boxes)  # CALL
    best, idx = ov.max(1)
    force = ov.argmax(0)
    best[force] = 2.0
    idx[force] = torch.arange(len(boxes), device=boxes.device)
    cls = labels[idx] + 1
    cls[best < thr] = 0
    b = boxes[idx]
    cxcy = ((b[:, :2] + b[:, 2:]) / 2 - priors[:, :2]) / priors[:, 2:] / 0.1
    wh = ((b[:, 2:] - b[:, :2]) / priors[:, 2:]).clamp_min(1e-3).log() / 0.2
    return torch.cat([cxcy, wh], 1), cls


def nms(boxes, scores, thr=0.5):
    keep = []
    order = scores.argsort(descending=True)
    while order.numel() > 0:
        i = order[0]
        keep.append(i)
        if order.numel() == 1:
            break
        o = iou(boxes[i][None], boxes[order[1:]])[0]
        order = order[1:][o <= thr]
    return torch.stack(keep) if keep else torch.empty(0, dtype=torch.long, device=boxes.device)


class TinySSD(nn.Module):
    def __init__(self, classes=2):
        super().__init__()
        self.n = classes + 1
        self.stem = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 16, 3, 2, 1), nn.ReLU())
        self.down = nn.Sequential(nn.Conv2d(16, 16, 3, 2, 1), nn.ReLU())
        self.heads = nn.ModuleList(nn.Conv2d(16, 2 * (4 + self.n), 3, padding=1) for _ in range(2))
        self.register_buffer("priors", make_priors([4, 2], [0.35, 0.6]))

    def forward(self, x):
        a = self.stem(x)
        outs = []
        for f, h in zip([a, self.down(a)], self.heads):
            outs.append(h(f).permute(0, 2, 3, 1).reshape(x.size(0), -1, 4 + self.n))
        y = torch.cat(outs, 1)
        return y[..., :4], y[..., 4:]


def synth(n):
    imgs, targets = torch.zeros(n, 1, 16, 16), []
    for k in range(n):
        c = torch.randint(2, (1,)).item()
        w = 5 if c == 0 else 8
        x, y = torch.randint(0, 16 - w, (2,)).tolist()
        imgs[k, 0, y:y + w, x:x + w] = 1.0
        targets.append({"boxes": torch.tensor([[x, y, x + w, y + w]]) / 16.0, "labels": torch.tensor([c])})
    return imgs, targets


device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
net = TinySSD().to(device)
opt = torch.optim.Adam(net.parameters(), 2e-3)
for it in range(6):
    imgs, targets = synth(8)  # CAUSE
    imgs = imgs.to(device)
    loc, conf = net(imgs)
    pairs = [match(net.priors, t["boxes"], t["labels"]) for t in targets]  # CALL
    tl, tc = (torch.stack(p) for p in zip(*pairs))
    pos = tc > 0
    l_loc = F.smooth_l1_loss(loc[pos], tl[pos])
    ce = F.cross_entropy(conf.transpose(1, 2), tc, reduction="none")
    neg = ce.masked_fill(pos, 0).sort(1, descending=True).values[:, :12]
    loss = l_loc + (ce[pos].sum() + neg.sum()) / pos.sum()
    opt.zero_grad(); loss.backward(); opt.step()
net.eval()
with torch.no_grad():
    loc, conf = net(synth(1)[0].to(device))
    prob, cls = conf[0].softmax(-1)[:, 1:].max(-1)
    cxcy = loc[0, :, :2] * 0.1 * net.priors[:, 2:] + net.priors[:, :2]
    boxes = to_corners(torch.cat([cxcy, net.priors[:, 2:] * (loc[0, :, 2:] * 0.2).exp()], 1))
    kept = nms(boxes, prob)
print(round(loss.item(), 3), len(kept), cls[kept].tolist()[:3], boxes[kept].cpu().numpy().shape)
