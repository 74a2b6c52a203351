"""A variational autoencoder for striped patterns."""
import torch
import torch.utils.data
from torch import nn, optim
from torch.nn import functional as F

use_cuda = torch.cuda.is_available()
torch.manual_seed(1)
device = torch.device("cuda") if use_cuda else torch.device("cpu")


class StripeDataset(torch.utils.data.Dataset):
    def __init__(self, n=64):
        phase = torch.rand(n, 1)
        grid = torch.linspace(0, 6.28, 64).unsqueeze(0)
        self.x = (torch.sin(grid * 3 + phase * 6.28) > 0).float()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], 0


class VAE(nn.Module):
    def __init__(self, latent=4):
        super().__init__()
        self.latent = latent
        self.encoder = nn.Sequential(nn.Linear(64, 32), nn.ReLU())
        self.fc_mu = nn.Linear(32, latent)
        self.fc_logvar = nn.Linear(32, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, 64))
        self.prior_std = nn.Parameter(torch.ones(latent), requires_grad=False)

    def encode(self, x):
        h = self.encoder(x)
        return self.fc_mu(h), self.fc_logvar(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decoder(self.reparameterize(mu, logvar)), mu, logvar

    def sample(self, n):
        z = torch.randn(n, self.latent, device=self.prior_std.device) * self.prior_std
        return torch.sigmoid(self.decoder(z))


def loss_function(recon, x, mu, logvar):
    bce = F.binary_cross_entropy_with_logits(recon, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld


def train(model, loader, optimizer):
    model.train()
    running = 0.0
    for data, _ in loader:
        data = data.to(device, non_blocking=True)
        optimizer.zero_grad()
        recon, mu, logvar = model(data)
        loss = loss_function(recon, data, mu, logvar)
        loss.backward()
        running += loss.item()
        optimizer.step()
    return running / len(loader.dataset)


if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(StripeDataset(), batch_size=16, shuffle=True)
    vae = VAE().to(device)
    optimizer = optim.Adam(vae.parameters(), lr=1e-2)
    first = train(vae, loader, optimizer)
    for _ in range(4):
        last = train(vae, loader, optimizer)
    print("improved:", last < first)
    with torch.no_grad():
        images = vae.sample(5).cpu()
        corners = torch.randn(2, vae.latent).to(device)
        steps = torch.linspace(0, 1, 5, device=device).unsqueeze(1)
        path = vae.decoder(corners[:1] * (1 - steps) + corners[1:] * steps)
    print(tuple(images.shape), tuple(path.cpu().numpy().shape))
