"""Focal loss for a rare class."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class FocalLoss(nn.Module):
    def __init__(self, alpha=None, gamma=2, size_average=True):
        super(FocalLoss, self).__init__()
        self.gamma = gamma
        self.alpha = alpha  # CAUSE
        if isinstance(alpha, float):
            self.alpha = torch.Tensor([alpha, 1 - alpha])  # CAUSE
        if isinstance(alpha, list):
            self.alpha = torch.Tensor(alpha)  # CAUSE
        self.size_average = size_average

    def forward(self, input, target):
        target = target.view(-1, 1)
        logpt = F.log_softmax(input, dim=1)
        logpt = logpt.gather(1, target).view(-1)
        pt = logpt.detach().exp()
        if self.alpha is not None:
            at = self.alpha.gather(0, target.view(-1))  # CAUSE FAIL
            logpt = logpt * at
        loss = -1 * (1 - pt) ** self.gamma * logpt
        return loss.mean() if self.size_average else loss.sum()


device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")

torch.manual_seed(10)
n = 64
x = torch.randn(n, 5)
y = (x[:, 0] > 1.2).long()
print("positives:", y.sum().item())

net = nn.Sequential(nn.Linear(5, 10), nn.ReLU(), nn.Linear(10, 2)).to(device)
criterion = FocalLoss(alpha=[0.25, 0.75], gamma=2).to(device)
optimizer = torch.optim.Adam(net.parameters())

for epoch in range(3):
    for i in range(0, n, 16):
        xb, yb = x[i:i+16].to(device), y[i:i+16].to(device)
        optimizer.zero_grad()
        loss = criterion(net(xb), yb)
        loss.backward()
        optimizer.step()
    print(f"Epoch {epoch}: {loss.item():.5f}")
