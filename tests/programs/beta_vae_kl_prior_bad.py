import torch
from torch import nn
from torch.distributions import Independent, Normal, kl_divergence


class Encoder(nn.Module):
    def __init__(self, d, z):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d, 16), nn.ELU(), nn.Linear(16, 2 * z))

    def forward(self, x):
        mu, log_sigma = self.body(x).chunk(2, dim=-1)
        return Normal(mu, log_sigma.exp())


class Decoder(nn.Module):
    def __init__(self, d, z):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(z, 16), nn.ELU(), nn.Linear(16, d))

    def forward(self, z):
        return Normal(self.body(z), 1.0)


class BetaVAE(nn.Module):
    def __init__(self, d=6, z=2, beta=4.0):
        super().__init__()
        self.enc, self.dec, self.beta = Encoder(d, z), Decoder(d, z), beta
        self.z = z

    def loss(self, x):
        q = self.enc(x)
        prior = Normal(torch.zeros(self.z), torch.ones(self.z))  # CAUSE
        sample = q.rsample()
        nll = -self.dec(sample).log_prob(x).sum(-1)
        kl = kl_divergence(q, prior).sum(-1)  # FAIL
        return (nll + self.beta * kl).mean()


torch.manual_seed(0)
device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
vae = BetaVAE().to(device)
opt = torch.optim.Adam(vae.parameters())
for step in range(3):
    loss = vae.loss(torch.randn(8, 6, device=device))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
