import torch
import torch.nn as nn
import torch.nn.functional as F
import numpy as np


def square_distance(src, dst):
    return torch.sum((src[:, :, None] - dst[:, None]) ** 2, dim=-1)


def index_points(points, idx):
    device = points.device
    B = points.shape[0]
    view_shape = list(idx.shape)
    view_shape[1:] = [1] * (len(view_shape) - 1)
    repeat_shape = list(idx.shape)
    repeat_shape[0] = 1
    batch_indices = torch.arange(B, dtype=torch.long).to(device).view(view_shape).repeat(repeat_shape)
    return points[batch_indices, idx, :]


def farthest_point_sample(xyz, npoint):
    device = xyz.device
    B, N, C = xyz.shape
    centroids = torch.zeros(B, npoint, dtype=torch.long).to(device)
    distance = torch.ones(B, N) * 1e10  # CAUSE
    farthest = torch.randint(0, N, (B,), dtype=torch.long).to(device)
    batch_indices = torch.arange(B, dtype=torch.long).to(device)
    for i in range(npoint):
        centroids[:, i] = farthest
        centroid = xyz[batch_indices, farthest, :].view(B, 1, 3)
        dist = torch.sum((xyz - centroid) ** 2, -1)
        mask = dist < distance  # FAIL
        distance[mask] = dist[mask]
        farthest = torch.max(distance, -1)[1]
    return centroids


class SetAbstraction(nn.Module):
    def __init__(self, npoint, k, in_ch, mlp):
        super().__init__()
        self.npoint, self.k = npoint, k
        self.mlp = nn.Sequential(nn.Linear(in_ch + 3, mlp), nn.ReLU())

    def forward(self, xyz, feats):
        new_xyz = index_points(xyz, farthest_point_sample(xyz, self.npoint))
        idx = square_distance(new_xyz, xyz).topk(self.k, largest=False)[1]
        rel = index_points(xyz, idx) - new_xyz.unsqueeze(2)
        x = rel if feats is None else torch.cat([rel, index_points(feats, idx)], -1)
        return new_xyz, self.mlp(x).max(2)[0]


class STN3d(nn.Module):
    def __init__(self):
        super(STN3d, self).__init__()
        self.fc1 = nn.Linear(3, 16)
        self.fc2 = nn.Linear(16, 9)

    def forward(self, x):
        batchsize = x.size()[0]
        h = F.relu(self.fc1(x)).max(1)[0]
        iden = torch.from_numpy(np.eye(3).flatten().astype(np.float32)).view(1, 9).repeat(batchsize, 1)
        if x.is_cuda:
            iden = iden.cuda()
        return (self.fc2(h) + iden).view(-1, 3, 3)


class PointNet2(nn.Module):
    def __init__(self, num_class=4):
        super().__init__()
        self.stn = STN3d()
        self.sa1 = SetAbstraction(16, 4, 0, 16)
        self.sa2 = SetAbstraction(4, 4, 16, 32)
        self.fc = nn.Linear(32, num_class)

    def forward(self, pts):
        pts = torch.bmm(pts, self.stn(pts))
        xyz, f = self.sa1(pts, None)
        xyz, f = self.sa2(xyz, f)
        return F.log_softmax(self.fc(f.max(1)[0]), -1)


def main():
    classifier = PointNet2()
    if torch.cuda.is_available():
        classifier = classifier.cuda()
    optimizer = torch.optim.Adam(classifier.parameters(), lr=0.001, betas=(0.9, 0.999))
    for epoch in range(2):
        points, target = torch.rand(4, 32, 3), torch.randint(0, 4, (4,))
        if torch.cuda.is_available():
            points, target = points.cuda(), target.cuda()
        optimizer.zero_grad()
        pred = classifier(points)
        loss = F.nll_loss(pred, target)
        loss.backward()
        optimizer.step()
        print(epoch, pred.data.max(1)[1].eq(target.data).cpu().sum().item())


if __name__ == '__main__':
    main()
