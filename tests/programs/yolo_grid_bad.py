"""Decoding of detector outputs with a grid of cell offsets, and the boxes that are left after a threshold."""
import torch
import torch.nn as nn


class Head(nn.Module):
    def __init__(self, ch, anchors, n_classes):
        super().__init__()
        self.na, self.no = len(anchors), 5 + n_classes
        self.register_buffer("anchors", torch.tensor(anchors).float().view(1, -1, 1, 1, 2))
        self.conv = nn.Conv2d(ch, self.na * self.no, 1)
        self.grid = None

    @staticmethod
    def make_grid(ny, nx):
        yv, xv = torch.meshgrid(torch.arange(ny), torch.arange(nx), indexing="ij")
        return torch.stack((xv, yv), 2).view(1, 1, ny, nx, 2).float()

    def forward(self, x):
        x = self.conv(x)
        bs, _, ny, nx = x.shape
        x = x.view(bs, self.na, self.no, ny, nx).permute(0, 1, 3, 4, 2).contiguous()
        if self.training:
            return x
        if self.grid is None or self.grid.shape[2:4] != x.shape[2:4]:
            self.grid = self.make_grid(ny, nx)  # CAUSE
        y = x.sigmoid()
        xy = (y[..., :2] * 2.0 - 0.5 + self.grid) / nx  # FAIL
        wh = (y[..., 2:4] * 2) ** 2 * self.anchors
        return torch.cat((xy, wh, y[..., 4:]), -1).view(bs, -1, self.no)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.SiLU())
        self.head = Head(8, [(0.1, 0.2), (0.4, 0.3)], 3)

    def forward(self, x):
        return self.head(self.stem(x))


def nms(boxes, scores, iou_thr=0.5):
    order, keep = scores.argsort(descending=True), []
    while order.numel():
        i = order[0]
        keep.append(i.item())
        lo = torch.maximum(boxes[i, :2], boxes[order[1:], :2])
        hi = torch.minimum(boxes[i, 2:], boxes[order[1:], 2:])
        inter = (hi - lo).clamp(min=0).prod(1)
        area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
        iou = inter / (area[i] + area[order[1:]] - inter + 1e-9)
        order = order[1:][iou <= iou_thr]
    return keep


@torch.no_grad()
def detect(model, image, conf=0.3):
    pred = model(image[None])[0]
    obj, cls = pred[:, 4], pred[:, 5:].max(1)
    score = obj * cls.values
    sel = score > conf
    xy, wh = pred[sel, :2], pred[sel, 2:4]
    boxes = torch.cat([xy - wh / 2, xy + wh / 2], 1)
    keep = nms(boxes, score[sel])
    return boxes[keep].cpu(), cls.indices[sel][keep].cpu()


if __name__ == "__main__":
    torch.manual_seed(0)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    net = Detector().to(device).eval()
    boxes, classes = detect(net, torch.rand(3, 16, 16, device=device), conf=0.2)
    print(len(boxes), classes[:5].tolist())
