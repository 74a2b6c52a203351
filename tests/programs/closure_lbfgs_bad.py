import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def pinn(steps):
    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)).to(device)
    x = torch.linspace(0, 1, 10).view(-1, 1).to(device).requires_grad_(True)
    x0 = torch.zeros(1, 1)
    opt = torch.optim.LBFGS(net.parameters(), max_iter=2)

    def closure():
        opt.zero_grad()
        u = net(x)
        du = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
        loss = ((du + u) ** 2).mean() + ((net(x0) - 1) ** 2).mean()  # FAIL
        loss.backward()
        return loss

    for _ in range(steps):
        opt.step(closure)  # CALL
    return net


pinn(2)  # CALL
print("solved")
