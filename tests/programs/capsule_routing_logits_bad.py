import torch
import torch.nn as nn
import torch.nn.functional as F

USE_CUDA = torch.cuda.is_available()


class DigitCaps(nn.Module):
    def __init__(self, num_capsules=3, num_routes=6, in_channels=4, out_channels=5):
        super(DigitCaps, self).__init__()
        self.num_routes = num_routes
        self.num_capsules = num_capsules
        self.W = nn.Parameter(torch.randn(1, num_routes, num_capsules, out_channels, in_channels))

    def forward(self, x):
        batch_size = x.size(0)
        x = torch.stack([x] * self.num_capsules, dim=2).unsqueeze(4)
        W = torch.cat([self.W] * batch_size, dim=0)
        u_hat = torch.matmul(W, x)
        b_ij = torch.zeros(1, self.num_routes, self.num_capsules, 1)
        if USE_CUDA:
            b_ij.cuda()
        for iteration in range(2):
            c_ij = F.softmax(b_ij, dim=1)
            c_ij = torch.cat([c_ij] * batch_size, dim=0).unsqueeze(4)
            s_j = (c_ij * u_hat).sum(dim=1, keepdim=True)  # FAIL
            v_j = self.squash(s_j)
            a_ij = torch.matmul(u_hat.transpose(3, 4), torch.cat([v_j] * self.num_routes, dim=1))
            b_ij = b_ij + a_ij.squeeze(4).mean(dim=0, keepdim=True)
        return v_j.squeeze(1)

    def squash(self, t):
        n = (t**2).sum(-1, keepdim=True)
        return n * t / ((1.0 + n) * torch.sqrt(n))


caps = DigitCaps()
data = torch.randn(2, 6, 4)
if USE_CUDA:
    caps = caps.cuda()
    data = data.cuda()
caps(data).sum().backward()  # CALL
