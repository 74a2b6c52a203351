import math

import torch
from torch import nn


class LoRALayer(nn.Module):
    def __init__(self, in_dim, out_dim, rank, alpha):
        super().__init__()
        self.A = nn.Parameter(torch.randn(in_dim, rank) / math.sqrt(rank))
        self.B = nn.Parameter(torch.zeros(rank, out_dim))
        self.alpha = alpha

    def forward(self, x):
        return self.alpha * (x @ self.A @ self.B)  # FAIL


class LinearWithLoRA(nn.Module):
    def __init__(self, linear, rank, alpha):
        super().__init__()
        self.linear = linear
        self.lora = LoRALayer(linear.in_features, linear.out_features, rank, alpha)

    def forward(self, x):
        return self.linear(x) + self.lora(x)  # CALL


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 8)
        self.fc2 = nn.Linear(8, 2)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))  # CALL


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = MLP().to(device)
for p in model.parameters():
    p.requires_grad = False
model.fc1 = LinearWithLoRA(model.fc1, rank=2, alpha=4)  # CAUSE
model.fc2 = LinearWithLoRA(model.fc2, rank=2, alpha=4)  # CAUSE
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-3)
x = torch.randn(5, 6, device=device)
loss = model(x).sum()  # CALL
loss.backward()
optimizer.step()
print(sum(p.numel() for p in model.parameters() if p.requires_grad))
