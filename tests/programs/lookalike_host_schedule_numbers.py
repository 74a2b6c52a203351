"""The schedule lives on the CPU and is read one number at a time."""
import torch
import torch.nn as nn


class Scheduler:
    def __init__(self, steps):
        self.betas = torch.linspace(1e-4, 0.02, steps)
        self.alphas = 1 - self.betas
        self.alpha_bar = torch.cumprod(self.alphas, 0)

    def add_noise(self, x, noise, t):
        # 0-dim CPU tensors may be mixed with tensors of any device
        a = self.alpha_bar[t]
        return a.sqrt() * x + (1 - a).sqrt() * noise

    def step(self, eps, t, x):
        beta, alpha, bar = self.betas[t], self.alphas[t], self.alpha_bar[t]
        mean = (x - beta / torch.sqrt(1 - bar) * eps) / torch.sqrt(alpha)
        if t > 0:
            mean = mean + beta.sqrt() * torch.randn_like(x)
        return mean


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 8)
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x, t):
        t = torch.full((x.shape[0],), t, dtype=torch.long, device=x.device)
        return self.b(torch.relu(self.a(x) + self.emb(t)))


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = Net().to(device)
sched = Scheduler(10)
opt = torch.optim.Adam(net.parameters(), 1e-3)
for i in range(3):
    x = torch.randn(8, 4).to(device)
    t = int(torch.randint(0, 10, (1,)))
    noise = torch.randn_like(x)
    loss = (net(sched.add_noise(x, noise, t), t) - noise).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x = torch.randn(2, 4, device=device)
    for t in reversed(range(10)):
        x = sched.step(net(x, t), t, x)
print(x.shape)
