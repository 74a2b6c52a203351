# coding: utf-8

# In[1]:

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

BATCH = 16
LATENT = 4
N_CLASSES = 10
DEVICE = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")

# In[2]:

imgs = torch.rand(64, 49)
labels = torch.randint(0, N_CLASSES, (64,))
loader = DataLoader(TensorDataset(imgs, labels), batch_size=BATCH, shuffle=True)

# In[3]:


def onehot(idx, n=N_CLASSES):
    if idx.dim() == 1:
        idx = idx.unsqueeze(1)
    out = torch.zeros(idx.size(0), n).to(idx.device)
    out.scatter_(1, idx, 1)
    return out


class CVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(49 + N_CLASSES, 32)
        self.mu = nn.Linear(32, LATENT)
        self.logvar = nn.Linear(32, LATENT)
        self.dec = nn.Sequential(nn.Linear(LATENT + N_CLASSES, 32), nn.ReLU(), nn.Linear(32, 49), nn.Sigmoid())

    def encode(self, x, c):
        h = F.relu(self.enc(torch.cat([x, c], 1)))
        return self.mu(h), self.logvar(h)

    def decode(self, z, c):
        return self.dec(torch.cat([z, c], 1))  # FAIL

    def forward(self, x, c):
        mu, logvar = self.encode(x, c)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.decode(z, c), mu, logvar


# In[4]:

net = CVAE().to(DEVICE)
opt = torch.optim.Adam(net.parameters(), 1e-3)

for epoch in range(2):
    running = 0
    for x, y in loader:
        x, y = x.to(DEVICE), y.to(DEVICE)
        recon, mu, logvar = net(x, onehot(y))
        bce = F.binary_cross_entropy(recon, x, reduction="sum")
        kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss = bce + kld
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item()
    print(epoch, running / len(loader.dataset))

# In[5]:

net.eval()
with torch.no_grad():
    c = torch.arange(0, N_CLASSES).long().unsqueeze(1).to(DEVICE)
    z = torch.randn(N_CLASSES, LATENT)  # CAUSE
    samples = net.decode(z, onehot(c))
print(samples.cpu().numpy().shape)
