import numpy as np
import torch
from torch import nn


def ensure(x, device=None):
    """A tensor, on `device` if one is given."""
    if not isinstance(x, torch.Tensor):
        x = torch.as_tensor(np.asarray(x), dtype=torch.float32)
    if device is None:
        return x
    return x.to(device)


class Gp:
    """Gaussian process regression with an RBF kernel. Data are stored where the caller says."""

    def __init__(self, noise=0.1, device=None):
        self.noise, self.device = noise, device
        self.log_scale = torch.zeros((), device=device, requires_grad=True)

    def kernel(self, a, b):
        return torch.exp(-torch.cdist(a, b).square() * (-2 * self.log_scale).exp() / 2)  # FAIL

    def fit(self, x, y, steps=5):
        self.x, self.y = ensure(x, self.device), ensure(y, self.device)
        opt = torch.optim.Adam([self.log_scale], lr=0.1)
        for _ in range(steps):
            opt.zero_grad()
            self.nll().backward()
            opt.step()
        return self

    def factor(self):
        k = self.kernel(self.x, self.x)
        return torch.linalg.cholesky(k + self.noise * torch.eye(len(k), device=k.device))

    def nll(self):
        l = self.factor()
        a = torch.cholesky_solve(self.y[:, None], l)
        return (self.y @ a).squeeze() / 2 + l.diagonal().log().sum()

    @torch.no_grad()
    def predict(self, x):
        x = ensure(x)  # CAUSE
        a = torch.cholesky_solve(self.y[:, None], self.factor())
        return (self.kernel(x, self.x) @ a).squeeze(1).cpu().numpy()  # CALL


if __name__ == "__main__":
    xs = np.linspace(0, 3, 15)[:, None]
    ys = np.sin(xs[:, 0])
    device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
    gp = Gp(device=device).fit(xs, ys)
    print(np.abs(gp.predict(xs) - ys).max() < 0.5)
    plain = Gp().fit(xs, ys, steps=1)
    print(plain.predict([[0.5]]).shape)
