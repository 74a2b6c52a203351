import torch
import torch.nn as nn
import torch.nn.functional as F
import numpy as np

def square_distance(src, dst):
    return torch.cdist(src, dst) ** 2

def index_points(points, idx):
    device = points.device
    B = points.shape[0]
    view_shape = list(idx.shape); view_shape[1:] = [1] * (len(view_shape) - 1)
    repeat_shape = list(idx.shape); repeat_shape[0] = 1
    batch_indices = torch.arange(B, dtype=torch.long).to(device).view(view_shape).repeat(repeat_shape)
    return points[batch_indices, idx, :]

def farthest_point_sample(xyz, npoint):
    device = xyz.device
    B, N, C = xyz.shape
    centroids = torch.zeros(B, npoint, dtype=torch.long).to(device)
    distance = torch.ones(B, N).to(device) * 1e10
    farthest = torch.randint(0, N, (B,), dtype=torch.long).to(device)
    batch_indices = torch.arange(B, dtype=torch.long).to(device)
    for i in range(npoint):
        centroids[:, i] = farthest
        centroid = xyz[batch_indices, farthest, :].view(B, 1, C)
        dist = torch.sum((xyz - centroid) ** 2, -1)
        mask = dist < distance
        distance[mask] = dist[mask]
        farthest = torch.max(distance, -1)[1]
    return centroids

class TNet(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.conv = nn.Conv1d(k, 16, 1)
        self.fc = nn.Linear(16, k * k)
    def forward(self, x):
        h = F.relu(self.conv(x)).max(2)[0]
        iden = torch.eye(self.k).view(1, -1).repeat(x.size(0), 1)
        if x.is_cuda:
            iden = iden.cuda()
        return (self.fc(h) + iden).view(-1, self.k, self.k)

class SetAbstraction(nn.Module):
    def __init__(self, npoint, k, cin, mlp):
        super().__init__()
        self.npoint, self.k = npoint, k
        self.mlp_convs = nn.ModuleList()
        self.mlp_bns = nn.ModuleList()
        last = cin + 3
        for o in mlp:
            self.mlp_convs.append(nn.Conv2d(last, o, 1))
            self.mlp_bns.append(nn.BatchNorm2d(o))
            last = o
    def forward(self, xyz, feats):
        new_xyz = index_points(xyz, farthest_point_sample(xyz, self.npoint))
        idx = square_distance(new_xyz, xyz).topk(self.k, largest=False)[1]
        grouped = index_points(xyz, idx) - new_xyz.unsqueeze(2)
        if feats is not None:
            grouped = torch.cat([grouped, index_points(feats, idx)], -1)
        x = grouped.permute(0, 3, 2, 1)
        for conv, bn in zip(self.mlp_convs, self.mlp_bns):
            x = F.relu(bn(conv(x)))
        return new_xyz, x.max(2)[0].transpose(1, 2)

class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.stn = TNet(3)
        self.sa1 = SetAbstraction(16, 4, 0, [16, 16])
        self.sa2 = SetAbstraction(4, 4, 16, [32])
        self.fc = nn.Linear(32, classes)
    def forward(self, pts):
        trans = self.stn(pts.transpose(1, 2))
        pts = torch.bmm(pts, trans)
        xyz, f = self.sa1(pts, None)
        xyz, f = self.sa2(xyz, f)
        return F.log_softmax(self.fc(f.max(1)[0]), -1), trans

def feature_transform_regularizer(trans):
    d = trans.size()[1]
    I = torch.eye(d)[None, :, :]  # CAUSE
    if trans.is_cuda:
        I = I.float()
    return torch.mean(torch.norm(torch.bmm(trans, trans.transpose(2, 1)) - I, dim=(1, 2)))  # FAIL

def augment(batch):
    theta = np.random.uniform(0, 2 * np.pi)
    r = np.array([[np.cos(theta), -np.sin(theta), 0], [np.sin(theta), np.cos(theta), 0], [0, 0, 1]])
    return torch.Tensor(batch @ r)

net = Classifier(4)
if torch.cuda.is_available():
    net = net.cuda()
opt = torch.optim.Adam(net.parameters())
for i in range(2):
    points = augment(np.random.randn(3, 32, 3))
    target = torch.randint(0, 4, (3,))
    if torch.cuda.is_available():
        points, target = points.cuda(), target.cuda()
    opt.zero_grad()
    pred, trans = net(points)
    loss = F.nll_loss(pred, target) + 1e-3 * feature_transform_regularizer(trans)
    loss.backward()
    opt.step()
    print(i, loss.item(), pred.data.max(1)[1].eq(target.data).cpu().sum().item())
