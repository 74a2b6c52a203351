import math

import torch
from torch import nn
import torch.nn.functional as F


def rotary_tables(length, dim, base=10000.0):
    inv = base ** (-torch.arange(0, dim, 2) / dim)
    angle = torch.outer(torch.arange(length), inv)
    return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


class RotaryMixer(nn.Module):
    def __init__(self, dim, longest):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)
        self.tables = rotary_tables(longest, dim)
        self.mask = torch.ones(longest, longest, dtype=torch.bool).triu(1)
        self.slopes = torch.linspace(0, 0.5, longest)

    def forward(self, x):
        n = x.size(1)
        cos, sin = (t[:n] for t in self.tables)
        q, k, v = self.qkv(x).chunk(3, -1)
        score = rotate(q, cos, sin) @ rotate(k, cos, sin).transpose(1, 2) / math.sqrt(x.size(-1))
        score = (score - self.slopes[:n]).masked_fill(self.mask[:n, :n], float("-inf"))
        return x + self.out(score.softmax(-1) @ v)


class SeriesLM(nn.Module):
    def __init__(self, bins, dim, longest):
        super().__init__()
        self.embed = nn.Embedding(bins, dim)
        self.mixers = nn.Sequential(*[RotaryMixer(dim, longest) for _ in range(2)])
        self.head = nn.Linear(dim, bins)

    def forward(self, tokens):
        return self.head(self.mixers(self.embed(tokens)))


class Discretizer:
    def __init__(self, bins, low, high):
        self.edges = torch.linspace(low, high, bins - 1)
        self.centers = torch.cat([self.edges[:1], (self.edges[1:] + self.edges[:-1]) / 2, self.edges[-1:]])

    def encode(self, values):
        return torch.bucketize(values, self.edges)

    def decode(self, tokens):
        return self.centers[tokens]


class Workbench:
    """Everything that an experiment needs is created inside one device scope."""

    def __init__(self, device, bins=16, dim=16, context=24):
        self.scope = torch.device(device)
        self.context = context
        with self.scope:
            self.codec = Discretizer(bins, -1.5, 1.5)
            self.model = SeriesLM(bins, dim, context)
            self.clock = torch.arange(0, 12, 0.2)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2)

    def wave(self, count):
        phase = torch.rand(count, 1) * 6.28
        return torch.sin(self.clock + phase) + 0.1 * torch.randn(count, len(self.clock))

    def train(self, steps):
        with self.scope:
            for _ in range(steps):
                tokens = self.codec.encode(self.wave(8))[:, :self.context + 1]
                logits = self.model(tokens[:, :-1])
                loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                yield loss.item()

    @torch.no_grad()
    def forecast(self, horizon):
        with self.scope:
            tokens = self.codec.encode(self.wave(1))[:, :8]
            for _ in range(horizon):
                last = self.model(tokens[:, -self.context:])[:, -1]
                tokens = torch.cat([tokens, torch.multinomial(last.softmax(-1), 1)], 1)
            return self.codec.decode(tokens[0, -horizon:])


def run():
    torch.manual_seed(77)
    bench = Workbench("cuda" if torch.cuda.is_available() else "cpu")
    print("loss", [round(v, 3) for v in bench.train(4)])
    print("forecast", [round(v, 2) for v in bench.forecast(5).tolist()])


if __name__ == "__main__":
    run()
