import torch
from torch import Tensor

class KalmanFilter:
    def __init__(self, F: Tensor, H: Tensor, Q: Tensor, R: Tensor) -> None:
        self.F, self.H, self.Q, self.R = F, H, Q, R
        self.I = torch.eye(F.shape[-1], dtype=F.dtype, device=F.device)

    @property
    def device(self):
        return self.F.device

    def to(self, device):
        for name in ("F", "H", "Q", "R", "I"):
            setattr(self, name, getattr(self, name).to(device))
        return self

    def predict(self, mean, cov):
        mean = mean @ self.F.mT
        cov = self.F @ cov @ self.F.mT + self.Q
        return mean, cov

    def update(self, mean, cov, z):
        S = self.H @ cov @ self.H.mT + self.R
        K = torch.linalg.solve(S, self.H @ cov).mT
        resid = z - (self.H @ mean.unsqueeze(-1)).squeeze(-1)
        mean = mean + (K @ resid.unsqueeze(-1)).squeeze(-1)
        cov = (self.I - K @ self.H) @ cov
        return mean, cov

    def filter(self, zs):
        n = zs.shape[1]
        mean = torch.zeros(n, self.F.shape[0], dtype=zs.dtype, device=self.device)
        cov = self.I.expand(n, -1, -1) * 10
        means = []
        for z in zs:
            mean, cov = self.predict(mean, cov)
            mean, cov = self.update(mean, cov, z)
            means.append(mean)
        return torch.stack(means)

def constant_velocity(dt=0.1, q=0.01, r=0.5, device=None):
    F = torch.tensor([[1, dt], [0, 1]], device=device)
    H = torch.tensor([[1.0, 0.0]], device=device)
    Q = q * torch.tensor([[dt ** 3 / 3, dt ** 2 / 2], [dt ** 2 / 2, dt]], device=device)
    R = torch.tensor([[r]], device=device)
    return KalmanFilter(F, H, Q, R)

def main():
    dev = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    kf = constant_velocity(device=dev)
    truth = torch.cumsum(torch.randn(12, 5), 0)
    zs = (truth + 0.3 * torch.randn_like(truth)).unsqueeze(-1).to(dev)
    est = kf.filter(zs)
    rmse = (est[..., 0].cpu() - truth).pow(2).mean().sqrt()
    print(f"rmse {rmse:.3f}")

if __name__ == "__main__":
    main()
