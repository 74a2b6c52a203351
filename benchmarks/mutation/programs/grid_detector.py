"""One-stage detection on a grid: anchors, decoding, loss with an ignore mask, and suppression by hand."""
import torch
import torch.nn as nn


class Head(nn.Module):
    def __init__(self, anchors, stride, channels):
        super().__init__()
        self.stride = stride
        self.register_buffer("anchors", torch.tensor(anchors, dtype=torch.float32))
        self.conv = nn.Conv2d(channels, len(anchors) * 5, 1)
        self.grid = None

    @staticmethod
    def make_grid(h, w, device):
        ys, xs = torch.meshgrid(torch.arange(h, device=device), torch.arange(w, device=device), indexing="ij")
        return torch.stack((xs, ys), dim=-1).view(1, 1, h, w, 2).float()

    def forward(self, x):
        b, _, h, w = x.shape
        raw = self.conv(x).view(b, len(self.anchors), 5, h, w).permute(0, 1, 3, 4, 2)
        if self.grid is None or self.grid.shape[2:4] != (h, w):
            self.grid = self.make_grid(h, w, x.device)
        xy = (raw[..., 0:2].sigmoid() + self.grid) * self.stride
        wh = raw[..., 2:4].clamp(max=2).exp() * self.anchors.view(1, -1, 1, 1, 2)
        return raw, torch.cat((xy, wh, raw[..., 4:5].sigmoid()), dim=-1).view(b, -1, 5)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(),
                                      nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU())
        self.head = Head([(4, 4), (8, 8)], stride=4, channels=16)

    def forward(self, x):
        return self.head(self.backbone(x))


def targets_for(boxes, raw, stride):
    b, a, h, w, _ = raw.shape
    tobj = torch.zeros(b, a, h, w, device=raw.device)
    rows = torch.arange(b, device=raw.device)
    cells = (boxes[:, :2] / stride).long()
    best = (boxes[:, 2] > 6).long()
    tobj[rows, best, cells[:, 1], cells[:, 0]] = 1.0
    return tobj


def suppress(boxes, scores, radius=3.0):
    keep = []
    order = scores.argsort(descending=True)
    alive = torch.ones(len(boxes), dtype=torch.bool, device=boxes.device)
    for i in order.tolist():
        if alive[i]:
            keep.append(i)
            alive &= (boxes[:, :2] - boxes[i, :2]).norm(dim=1) > radius
    return torch.tensor(keep, device=boxes.device)


def scenes(n):
    images, boxes = 0.1 * torch.rand(n, 1, 16, 16), []
    for i in range(n):
        size = 4 if i % 2 else 8
        x, y = torch.randint(0, 16 - size, (2,)).tolist()
        images[i, 0, y : y + size, x : x + size] += 1
        boxes.append([x + size / 2, y + size / 2, size, size])
    return images, torch.tensor(boxes)


def main():
    torch.manual_seed(14)
    dev = torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")
    net = Detector().to(dev)
    pos_weight = torch.tensor(10.0, device=dev)
    bce = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(6):
        imgs, gt = scenes(8)
        imgs = imgs.to(dev)
        gt = gt.to(dev)
        raw, _ = net(imgs)
        loss = bce(raw[..., 4], targets_for(gt, raw, net.head.stride))
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        imgs, _ = scenes(1)
        decoded = net(imgs.to(dev))[1][0]
    kept = decoded[suppress(decoded, decoded[:, 4])]
    print("kept some:", 0 < len(kept) <= 32)
    print(kept.cpu().numpy().shape[1])


if __name__ == "__main__":
    main()
