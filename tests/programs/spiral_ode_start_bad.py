import torch, time
import torch.nn as nn
import numpy as np


class ODEFunc(nn.Module):
    def __init__(self):
        super(ODEFunc, self).__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y ** 3)


def rk4_step(f, t, dt, y):
    k1 = f(t, y)
    k2 = f(t + dt / 2, y + dt * k1 / 2)
    k3 = f(t + dt / 2, y + dt * k2 / 2)
    k4 = f(t + dt, y + dt * k3)
    return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def odeint(f, y0, t):
    ys = [y0]
    for t0, t1 in zip(t[:-1], t[1:]):
        ys.append(rk4_step(f, t0, t1 - t0, ys[-1]))
    return torch.stack(ys)


class RunningAverageMeter(object):
    def __init__(self, momentum=0.99):
        self.momentum, self.val, self.avg = momentum, None, 0

    def update(self, val):
        self.avg = val if self.val is None else self.avg * self.momentum + val * (1 - self.momentum)
        self.val = val


device = torch.device('cuda:' + str(0) if torch.cuda.is_available() else 'cpu')
data_size, batch_time, batch_size = 30, 5, 4
true_y0 = torch.tensor([[2., 0.]])  # CAUSE
t = torch.linspace(0., 5., data_size).to(device)
true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]]).to(device)


class Lambda(nn.Module):
    def forward(self, t, y):
        return torch.mm(y ** 3, true_A)  # FAIL


with torch.no_grad():
    true_y = odeint(Lambda(), true_y0, t)


def get_batch():
    s = torch.from_numpy(np.random.choice(np.arange(data_size - batch_time, dtype=np.int64), batch_size, replace=False))
    batch_y0 = true_y[s]
    batch_t = t[:batch_time]
    batch_y = torch.stack([true_y[s + i] for i in range(batch_time)], dim=0)
    return batch_y0.to(device), batch_t.to(device), batch_y.to(device)


func = ODEFunc().to(device)
optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-3)
loss_meter = RunningAverageMeter(0.97)
end = time.time()
for itr in range(1, 4):
    optimizer.zero_grad()
    batch_y0, batch_t, batch_y = get_batch()
    pred_y = odeint(func, batch_y0, batch_t).to(device)
    loss = torch.mean(torch.abs(pred_y - batch_y))
    loss.backward()
    optimizer.step()
    loss_meter.update(loss.item())
    with torch.no_grad():
        pred = odeint(func, true_y0, t)
        print(itr, torch.mean(torch.abs(pred - true_y)).item())
grid = np.stack(np.mgrid[-2:2:5j, -2:2:5j], -1).reshape(-1, 2)
with torch.no_grad():
    dydt = func(0, torch.Tensor(grid).to(device)).cpu().detach().numpy()
mag = np.sqrt((dydt ** 2).sum(-1))
print(mag.max(), true_y.cpu().numpy()[:, 0, 0].max())
