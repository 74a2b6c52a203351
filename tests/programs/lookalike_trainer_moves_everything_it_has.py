import torch
from torch import nn


class Margin(nn.Module):
    def __init__(self, n, margin=0.2):
        super().__init__()
        self.margin = margin
        self.register_buffer("weight", torch.linspace(0.5, 1.5, n))

    def forward(self, logits, y):
        hot = nn.functional.one_hot(y, logits.size(1)).float()
        return (self.weight * (self.margin + (1 - 2 * hot) * logits).clamp(min=0)).mean()


class BaseTrainer:
    """Whatever module the subclass sets in `build` goes to the device before the first step."""

    def __init__(self, device):
        self.device = torch.device(device)
        self.build()
        for name, value in list(vars(self).items()):
            if isinstance(value, nn.Module):
                setattr(self, name, value.to(self.device))
        self.opt = torch.optim.Adam(self.parameters(), lr=1e-2)

    def build(self):
        raise NotImplementedError

    def modules(self):
        return [v for v in vars(self).values() if isinstance(v, nn.Module)]

    def parameters(self):
        return [p for m in self.modules() for p in m.parameters()]

    def run(self, batches):
        for batch in batches:
            loss = self.step(*[t.to(self.device) for t in batch])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.item()


class Classifier(BaseTrainer):
    def build(self):
        self.encoder = nn.Sequential(nn.Linear(5, 8), nn.ReLU())
        self.head = nn.Linear(8, 3)
        self.criterion = Margin(3)

    def step(self, x, y):
        return self.criterion(self.head(self.encoder(x)), y)


class Autoencoder(BaseTrainer):
    def build(self):
        self.down, self.up = nn.Linear(5, 2), nn.Linear(2, 5)
        self.scale = nn.Parameter(torch.ones(1))

    def parameters(self):
        self.scale = nn.Parameter(self.scale.detach().to(self.device))
        return super().parameters() + [self.scale]

    def step(self, x, y):
        return (self.scale * self.up(torch.tanh(self.down(x))) - x).pow(2).mean()


def data(n):
    for _ in range(n):
        x = torch.randn(6, 5)
        yield x, x[:, :3].argmax(1)


torch.manual_seed(0)
where = "cuda" if torch.cuda.is_available() else "cpu"
for kind in (Classifier, Autoencoder):
    print(kind.__name__, kind(where).run(data(3)))
