"""Demand forecasting with a causal temporal convolutional network and quantile loss."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalConv(nn.Module):
    def __init__(self, c_in, c_out, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv = nn.Conv1d(c_in, c_out, 3, dilation=dilation)
        self.skip = nn.Conv1d(c_in, c_out, 1) if c_in != c_out else nn.Identity()

    def forward(self, x):
        return F.relu(self.conv(F.pad(x, (self.pad, 0)))) + self.skip(x)


class TCN(nn.Module):
    def __init__(self, channels, quantiles):
        super().__init__()
        blocks = [CausalConv(a, b, 2**i) for i, (a, b) in enumerate(zip([2, *channels], channels))]
        self.trunk = nn.Sequential(*blocks)
        self.head = nn.Conv1d(channels[-1], len(quantiles), 1)
        self.register_buffer("quantiles", torch.tensor(quantiles))

    def forward(self, x):
        return self.head(self.trunk(x))

    def loss(self, prediction, target):
        error = target.unsqueeze(1) - prediction
        q = self.quantiles.view(1, -1, 1)
        return torch.maximum(q * error, (q - 1) * error).mean()


class Scaler:
    def __init__(self, series):
        self.low = torch.as_tensor(series.min(axis=1, keepdims=True))
        self.high = torch.as_tensor(series.max(axis=1, keepdims=True))

    def to(self, device):
        self.low = self.low.to(device)
        self.high = self.high.to(device)
        return self

    def encode(self, x):
        return (x - self.low) / (self.high - self.low)

    def decode(self, x):
        return x * (self.high - self.low) + self.low


def synth(n=6, length=64, seed=0):
    rng = np.random.RandomState(seed)
    t = np.arange(length)
    level = rng.uniform(5, 10, size=(n, 1))
    return (level + 3 * np.sin(2 * np.pi * t / 7) + rng.normal(0, 0.3, (n, length))).astype("float32")


def main():
    torch.manual_seed(19)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    series = synth()
    data = torch.from_numpy(series).to(device)
    scaler = Scaler(series).to(device)
    scaled = scaler.encode(data)
    weekday = (torch.arange(data.size(1), device=device) % 7).float() / 7
    inputs = torch.stack([scaled, weekday.expand_as(scaled)], dim=1)

    model = TCN([12, 12], [0.1, 0.5, 0.9]).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(10):
        prediction = model(inputs[:, :, :-1])
        loss = model.loss(prediction, scaled[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    with torch.no_grad():
        low, mid, high = model(inputs).unbind(dim=1)
    inside = ((data >= scaler.decode(low)) & (data <= scaler.decode(high))).float().mean()
    mae = np.abs(scaler.decode(mid).cpu().numpy()[:, :-1] - series[:, 1:]).mean()
    print("coverage in range:", 0 <= inside.item() <= 1, "mae finite:", bool(np.isfinite(mae)))


if __name__ == "__main__":
    main()
