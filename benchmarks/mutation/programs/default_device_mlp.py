"""Everything is made on the accelerator through the default device; only the files' data has to be moved."""
import numpy as np
import torch
from torch import nn


def load_csv_like(n):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, 5)).astype(np.float32)
    return x, (x @ np.array([1, -2, 0.5, 0, 3], dtype=np.float32)).astype(np.float32)


class Ensemble(nn.Module):
    """Members are evaluated together by batched matrix products."""

    def __init__(self, members, n_in, width):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(members, n_in, width) / n_in**0.5)
        self.b1 = nn.Parameter(torch.zeros(members, 1, width))
        self.w2 = nn.Parameter(torch.randn(members, width, 1) / width**0.5)

    def forward(self, x):
        h = torch.tanh(torch.baddbmm(self.b1, x.expand(len(self.w1), -1, -1), self.w1))
        return torch.bmm(h, self.w2).squeeze(-1)


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_default_device(device)
    torch.manual_seed(3)
    x, y = load_csv_like(120)
    x_train = torch.from_numpy(x[:100]).to(device)
    y_train = torch.from_numpy(y[:100]).to(device)
    model = Ensemble(4, 5, 12)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    member_weight = torch.linspace(0.5, 1.5, 4).unsqueeze(1)
    for _ in range(15):
        drop = torch.rand(4, 100) < 0.9
        error = (model(x_train) - y_train) * member_weight
        loss = (error.pow(2) * drop).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        test = torch.as_tensor(x[100:], device=device)
        prediction = model(test)
        spread = prediction.std(dim=0).cpu().numpy()
        mean = prediction.mean(dim=0).cpu().numpy()
    print(spread.shape, bool(np.isfinite(mean - y[100:]).all()))


main()
