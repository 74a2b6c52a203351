import torch
from torch import nn

T = 20
betas = torch.linspace(1e-4, 0.02, T)
alphas_bar = torch.cumprod(1 - betas, 0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
eps_model = nn.Sequential(nn.Linear(3, 8), nn.SiLU(), nn.Linear(8, 2)).to(device)
opt = torch.optim.Adam(eps_model.parameters())
for _ in range(2):
    x0 = torch.randn(8, 2)
    t = torch.randint(0, T, (8,))
    ab = alphas_bar[t][:, None]
    noise = torch.randn_like(x0)
    xt = ab.sqrt() * x0 + (1 - ab).sqrt() * noise
    pred = eps_model(torch.cat([xt, t[:, None] / T], 1).to(device))
    loss = (pred - noise.to(device)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
x = torch.randn(4, 2, device=device)
for i in reversed(range(T)):
    tt = torch.full((4, 1), i / T, device=device)
    with torch.no_grad():
        e = eps_model(torch.cat([x, tt], 1))
    x = (x - betas[i] / (1 - alphas_bar[i]).sqrt() * e) / (1 - betas[i]).sqrt()
    if i:
        x = x + betas[i].sqrt() * torch.randn_like(x)
print(x.shape)
