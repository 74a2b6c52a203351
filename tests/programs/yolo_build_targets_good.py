import torch
import torch.nn as nn


def build_targets(pred, target, anchors, grid):
    ByteTensor = torch.cuda.BoolTensor if pred.is_cuda else torch.BoolTensor
    FloatTensor = torch.cuda.FloatTensor if pred.is_cuda else torch.FloatTensor
    nB, nA = pred.size(0), len(anchors)
    obj_mask = ByteTensor(nB, nA, grid, grid).fill_(0)
    tx = FloatTensor(nB, nA, grid, grid).fill_(0)
    b = target[:, 0].long()
    gx = target[:, 1] * grid
    gi = gx.long()
    obj_mask[b, 0, gi, gi] = 1
    tx[b.cpu() if not tx.is_cuda else b, 0, gi.cpu() if not tx.is_cuda else gi, gi.cpu() if not tx.is_cuda else gi] = (gx - gx.floor()).to(tx.device)
    return obj_mask, tx


class YOLOLayer(nn.Module):
    def __init__(self, anchors):
        super().__init__()
        self.anchors = anchors
        self.mse = nn.MSELoss()

    def forward(self, x, targets):
        g = x.size(2)
        p = x.view(x.size(0), len(self.anchors), 2, g, g)
        mask, tx = build_targets(p, targets, self.anchors, g)
        return self.mse(torch.sigmoid(p[:, :, 0])[mask], tx[mask.to(tx.device)])


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
backbone = nn.Conv2d(3, 4, 2, stride=2).to(device)
head = YOLOLayer([(10, 13), (16, 30)]).to(device)
imgs = torch.rand(2, 3, 8, 8).to(device)
targets = torch.tensor([[0.0, 0.3], [1.0, 0.7]]).to(device)
loss = head(backbone(imgs), targets)
loss.backward()
