from collections import defaultdict

import torch
from torch import distributions as D
from torch import nn


class GaussianEncoder(nn.Module):
    def __init__(self, x_dim, z_dim, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(x_dim, hidden), nn.ELU())
        self.loc = nn.Linear(hidden, z_dim)
        self.scale = nn.Sequential(nn.Linear(hidden, z_dim), nn.Softplus())

    def forward(self, x):
        h = self.body(x)
        return D.Independent(D.Normal(self.loc(h), self.scale(h) + 1e-4), 1)


class BernoulliDecoder(nn.Module):
    def __init__(self, z_dim, x_dim, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(z_dim, hidden), nn.ELU(), nn.Linear(hidden, x_dim))

    def forward(self, z):
        return D.Independent(D.Bernoulli(logits=self.body(z)), 1)


class MixturePrior(nn.Module):
    def __init__(self, k, z_dim):
        super().__init__()
        self.k = k
        self.mu = nn.Parameter(torch.randn(k, z_dim))
        self.rho = nn.Parameter(torch.zeros(k, z_dim))

    def forward(self):
        weights = torch.ones(self.k)  # CAUSE
        mix = D.Categorical(weights)
        comp = D.Independent(D.Normal(self.mu, nn.functional.softplus(self.rho)), 1)
        return D.MixtureSameFamily(mix, comp)


class IWAE(nn.Module):
    def __init__(self, x_dim=16, z_dim=3, k=4):
        super().__init__()
        self.encoder = GaussianEncoder(x_dim, z_dim)
        self.decoder = BernoulliDecoder(z_dim, x_dim)
        self.prior = MixturePrior(k, z_dim)

    def log_weights(self, x, n):
        q = self.encoder(x)
        z = q.rsample((n,))
        logp = self.prior().log_prob(z) + self.decoder(z).log_prob(x)  # FAIL
        return logp - q.log_prob(z)

    def loss(self, x, n=5):
        log_w = self.log_weights(x, n)
        bound = torch.logsumexp(log_w, 0) - torch.log(torch.tensor(float(n)))
        return -bound.mean()


class Logger:
    def __init__(self):
        self.values = defaultdict(list)

    def __call__(self, **kw):
        for k, v in kw.items():
            self.values[k].append(float(v))

    def summary(self):
        return {k: sum(v) / len(v) for k, v in self.values.items()}


def patterns(n, d):
    protos = torch.rand(4, d) > 0.5
    flip = torch.rand(n, d) < 0.05
    return (protos[torch.randint(4, (n,))] ^ flip).float()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
    model = IWAE().to(device)
    optimizer = torch.optim.Adamax(model.parameters(), lr=2e-3)
    log = Logger()
    train = patterns(64, 16)
    for epoch in range(2):
        for x in train.split(16):
            x = x.to(device)
            loss = model.loss(x)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            log(nll=loss.detach())
    print(log.summary())


if __name__ == "__main__":
    main()
