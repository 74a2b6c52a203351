"""A tiny neural ODE with a hand-written RK4 solver."""
import torch
import torch.nn as nn


class ODEFunc(nn.Module):
    def __init__(self):
        super(ODEFunc, self).__init__()
        self.net = nn.Sequential(nn.Linear(3, 20), nn.Tanh(), nn.Linear(20, 2))

    def forward(self, t, y):
        tt = t.expand(y.shape[0], 1)
        return self.net(torch.cat([y, tt], dim=1))


def odeint_rk4(func, y0, t):
    sol = [y0]
    for i in range(len(t) - 1):
        h = t[i + 1:i + 2] - t[i:i + 1]
        k1 = func(t[i:i + 1], sol[-1])
        k2 = func(t[i:i + 1] + h / 2, sol[-1] + h / 2 * k1)
        k3 = func(t[i:i + 1] + h / 2, sol[-1] + h / 2 * k2)
        k4 = func(t[i:i + 1] + h, sol[-1] + h * k3)
        sol.append(sol[-1] + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    return torch.stack(sol)


def main():
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    func = ODEFunc().to(device)
    optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-3)
    true_y0 = torch.tensor([[2., 0.]]).to(device)
    t = torch.linspace(0., 1., 6).to(device)
    true_y = torch.rand(6, 1, 2).to(device)
    for itr in range(1, 4):
        optimizer.zero_grad()
        pred_y = odeint_rk4(func, true_y0, t)
        loss = torch.mean(torch.abs(pred_y - true_y))
        loss.backward()
        optimizer.step()
        print('Iter {:04d} | Total Loss {:.6f}'.format(itr, loss.item()))


main()
