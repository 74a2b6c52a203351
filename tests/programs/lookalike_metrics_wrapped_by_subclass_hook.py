import abc

import torch
import torch.nn as nn


class Metric(abc.ABC):
    """Sums live on the host; `update` takes whatever the model gives."""

    def __init__(self):
        self._defaults = {}

    def add_state(self, name, default):
        self._defaults[name] = default
        setattr(self, name, default.clone())

    def reset(self):
        for name, default in self._defaults.items():
            setattr(self, name, default.clone())

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        inner = cls.update

        def update(self, *tensors):
            with torch.no_grad():
                return inner(self, *(t.detach().to("cpu", torch.float64) for t in tensors))

        cls.update = update

    @abc.abstractmethod
    def update(self, pred, target):
        ...

    @abc.abstractmethod
    def compute(self):
        ...


class PinballByQuantile(Metric):
    def __init__(self, quantiles):
        super().__init__()
        self.q = torch.tensor(quantiles, dtype=torch.float64)
        self.add_state("total", torch.zeros(len(quantiles), dtype=torch.float64))
        self.add_state("count", torch.zeros((), dtype=torch.float64))

    def update(self, pred, target):
        error = target.unsqueeze(-1) - pred
        self.total += torch.maximum(self.q * error, (self.q - 1) * error).sum((0, 1))
        self.count += target.numel()

    def compute(self):
        return (self.total / self.count).tolist()


class Coverage(Metric):
    def __init__(self, horizon):
        super().__init__()
        self.add_state("inside", torch.zeros(horizon, dtype=torch.float64))
        self.add_state("rows", torch.zeros((), dtype=torch.float64))

    def update(self, pred, target):
        self.inside += ((target >= pred[..., 0]) & (target <= pred[..., -1])).sum(0)
        self.rows += len(target)

    def compute(self):
        return (self.inside / self.rows).tolist()


class MetricCollection(dict):
    def update_all(self, *tensors):
        for metric in self.values():
            metric.update(*tensors)

    def summary(self):
        return {name: [round(v, 3) for v in metric.compute()] for name, metric in self.items()}

    def reset(self):
        for metric in self.values():
            metric.reset()


class QuantileForecaster(nn.Module):
    def __init__(self, past, horizon, quantiles):
        super().__init__()
        self.shape = (horizon, len(quantiles))
        self.register_buffer("quantiles", torch.tensor(quantiles))
        self.net = nn.Sequential(nn.Linear(past, 32), nn.ELU(), nn.Linear(32, horizon * len(quantiles)))

    def forward(self, x):
        level = x.mean(1, keepdim=True)
        raw = self.net(x - level).view(-1, *self.shape)
        ordered = torch.cat([raw[..., :1], nn.functional.softplus(raw[..., 1:])], -1).cumsum(-1)
        return ordered + level.unsqueeze(-1)

    def loss(self, pred, target):
        error = target.unsqueeze(-1) - pred
        return torch.maximum(self.quantiles * error, (self.quantiles - 1) * error).mean()


def demand(count, past, horizon):
    for _ in range(count):
        t = torch.arange(past + horizon) + torch.randint(0, 24, (16, 1))
        y = 1 + 0.5 * torch.sin(t * 6.2832 / 12) + 0.1 * torch.randn(t.shape)
        yield y[:, :past], y[:, past:]


def main(past=12, horizon=4, quantiles=(0.1, 0.5, 0.9)):
    torch.manual_seed(50)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = QuantileForecaster(past, horizon, quantiles).to(device)
    metrics = MetricCollection(pinball=PinballByQuantile(quantiles), coverage=Coverage(horizon))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    for epoch in range(2):
        metrics.reset()
        for x, y in demand(5, past, horizon):
            x, target = x.to(device), y.to(device)
            pred = model(x)
            loss = model.loss(pred, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            metrics.update_all(pred, y)
        print(f"epoch {epoch} loss {loss.item():.3f}", metrics.summary())


if __name__ == "__main__":
    main()
