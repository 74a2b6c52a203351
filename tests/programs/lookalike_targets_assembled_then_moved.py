import torch
import torch.nn as nn


class AnchorTargets:
    """Targets are assembled on the host, since the boxes come from the annotation files, and moved at the end."""

    def __init__(self, size=4, stride=8, device="cpu"):
        self.size, self.stride, self.device = size, stride, device
        ys, xs = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        self.centers = torch.stack([xs, ys], -1).reshape(-1, 2).float() * stride + stride / 2

    def __call__(self, boxes_list):
        cls, reg, pos = [], [], []
        for boxes in boxes_list:
            c = torch.zeros(len(self.centers))
            r = torch.zeros(len(self.centers), 4)
            if len(boxes):
                mid = (boxes[:, :2] + boxes[:, 2:]) / 2
                d = torch.cdist(self.centers, mid)
                best = d.argmin(1)
                near = d.min(1).values < self.stride
                c[near] = 1.0
                r[near] = boxes[best][near]
            cls.append(c)
            reg.append(r)
            pos.append(int(c.sum()))
        return torch.stack(cls).to(self.device), torch.stack(reg).to(self.device), pos


class Head(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.cls = nn.Conv2d(c, 1, 1)
        self.reg = nn.Conv2d(c, 4, 1)

    def forward(self, f):
        return self.cls(f).flatten(1), self.reg(f).flatten(2).transpose(1, 2).exp()


def train():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = nn.Sequential(nn.Conv2d(3, 8, 3, stride=8, padding=1), nn.ReLU(), Head(8)).to(device)
    assign = AnchorTargets(device=device)
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for it in range(2):
        images = torch.rand(2, 3, 32, 32)
        boxes = [torch.tensor([[2., 2., 14., 14.]]), torch.zeros(0, 4)]
        scores, pred = net(images.to(device))
        cls, reg, npos = assign(boxes)
        fg = cls > 0
        loss = nn.functional.binary_cross_entropy_with_logits(scores, cls)
        if sum(npos):
            loss = loss + nn.functional.smooth_l1_loss(pred[fg], reg[fg])
        opt.zero_grad()
        loss.backward()
        opt.step()
        keep = scores[0].detach().cpu().topk(3).indices
        print(it, loss.item(), assign.centers[keep].tolist())


train()
