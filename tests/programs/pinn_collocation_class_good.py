import numpy as np
import torch
import torch.nn as nn


class PhysicsInformedNN:
    def __init__(self, X_u, u, X_f, layers, lb, ub, nu):
        self.lb = torch.tensor(lb).float().to(device)
        self.ub = torch.tensor(ub).float().to(device)
        self.x_u = torch.tensor(X_u[:, 0:1], requires_grad=True).float().to(device)
        self.t_u = torch.tensor(X_u[:, 1:2], requires_grad=True).float().to(device)
        self.x_f = torch.tensor(X_f[:, 0:1], requires_grad=True).float().to(device)
        self.t_f = torch.tensor(X_f[:, 1:2], requires_grad=True).float().to(device)
        self.u = torch.tensor(u).float().to(device)
        self.nu = nu
        self.dnn = nn.Sequential(nn.Linear(layers[0], layers[1]), nn.Tanh(), nn.Linear(layers[1], layers[2])).to(device)
        self.optimizer = torch.optim.Adam(self.dnn.parameters(), lr=1e-3)

    def net_u(self, x, t):
        X = torch.cat([x, t], dim=1)
        return self.dnn(2.0 * (X - self.lb) / (self.ub - self.lb) - 1.0)

    def net_f(self, x, t):
        u = self.net_u(x, t)
        u_t = torch.autograd.grad(u, t, grad_outputs=torch.ones_like(u), retain_graph=True, create_graph=True)[0]
        u_x = torch.autograd.grad(u, x, grad_outputs=torch.ones_like(u), retain_graph=True, create_graph=True)[0]
        return u_t + u * u_x

    def loss_func(self):
        self.optimizer.zero_grad()
        u_pred = self.net_u(self.x_u, self.t_u)
        f_pred = self.net_f(self.x_f, self.t_f)
        loss = torch.mean((self.u - u_pred) ** 2) + torch.mean(f_pred**2)
        loss.backward()
        return loss

    def train(self, n):
        self.dnn.train()
        for _ in range(n):
            self.loss_func()
            self.optimizer.step()

    def predict(self, X):
        x = torch.tensor(X[:, 0:1]).float().to(device)
        t = torch.tensor(X[:, 1:2]).float().to(device)
        self.dnn.eval()
        return self.net_u(x, t).detach().cpu().numpy()


if torch.cuda.is_available():
    device = torch.device("cuda")
else:
    device = torch.device("cpu")

X_u = np.random.rand(10, 2)
model = PhysicsInformedNN(X_u, np.random.rand(10, 1), np.random.rand(20, 2), [2, 8, 1], X_u.min(0), X_u.max(0), 0.01)
model.train(2)
print(model.predict(X_u).shape)
