"""one-stage detector on blobs: anchors, matching, nms without torchvision"""
import torch
import torch.nn.functional as F
from torch import nn


def box_area(b):
    return (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])


def box_iou(a, b):
    lt = torch.max(a[:, None, :2], b[:, :2])
    rb = torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    return inter / (box_area(a)[:, None] + box_area(b) - inter)


def nms(boxes, scores, thr):
    order = scores.argsort(descending=True)
    keep = []
    while order.numel() > 0:
        i = order[0]
        keep.append(i)
        if order.numel() == 1:
            break
        iou = box_iou(boxes[i][None], boxes[order[1:]])[0]
        order = order[1:][iou <= thr]
    return torch.stack(keep)


class Anchors:
    def __init__(self, stride=4, sizes=(4., 8.)):
        self.stride, self.sizes = stride, sizes

    def __call__(self, fmap):
        h, w = fmap.shape[-2:]
        ys = (torch.arange(h, device=fmap.device) + 0.5) * self.stride
        xs = (torch.arange(w, device=fmap.device) + 0.5) * self.stride
        cy, cx = torch.meshgrid(ys, xs, indexing="ij")
        c = torch.stack([cx, cy], -1).reshape(-1, 1, 2)
        half = torch.tensor(self.sizes, device=fmap.device).view(1, -1, 1) / 2
        return torch.cat([c - half, c + half], -1).reshape(-1, 4)


class Detector(nn.Module):
    def __init__(self, n_cls=2, n_anchor=2):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.ReLU())
        self.cls = nn.Conv2d(8, n_anchor * n_cls, 1)
        self.reg = nn.Conv2d(8, n_anchor * 4, 1)
        self.n_cls = n_cls
        self.anchors = Anchors()

    def forward(self, x):
        f = self.backbone(x)
        b = x.shape[0]
        cls = self.cls(f).permute(0, 2, 3, 1).reshape(b, -1, self.n_cls)
        reg = self.reg(f).permute(0, 2, 3, 1).reshape(b, -1, 4)
        return cls, reg, self.anchors(f)


def match(anchors, gt_boxes, gt_labels, n_cls, thr=0.3):
    iou = box_iou(anchors, gt_boxes)
    best, idx = iou.max(1)
    pos = best > thr
    target = torch.zeros(len(anchors), n_cls)  # CAUSE
    target[pos, gt_labels[idx[pos]]] = 1.
    return target, gt_boxes[idx] - anchors, pos


@torch.no_grad()
def detect(model, img, device, thr=0.3):
    model.eval()
    cls, reg, anchors = model(img[None].to(device))
    score, label = cls[0].sigmoid().max(-1)
    boxes = anchors + reg[0]
    m = score > thr
    if not m.any():
        return []
    keep = nms(boxes[m], score[m], 0.5)
    return list(zip(label[m][keep].tolist(), boxes[m][keep].cpu().numpy().round(1).tolist()))


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = Detector().to(device)
opt = torch.optim.SGD(net.parameters(), 1e-2)
for step in range(3):
    img = torch.randn(2, 1, 16, 16, device=device)
    cls, reg, anchors = net(img)
    loss = 0
    for i in range(2):
        gt = torch.tensor([[2., 2., 9., 9.], [6., 6., 14., 14.]], device=device)
        lab = torch.tensor([0, 1], device=device)
        t, d, pos = match(anchors, gt, lab, net.n_cls)
        loss = loss + F.binary_cross_entropy_with_logits(cls[i], t)  # FAIL
        if pos.any():
            loss = loss + F.smooth_l1_loss(reg[i][pos], d[pos])
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item(), len(detect(net, torch.randn(1, 16, 16), device)))
