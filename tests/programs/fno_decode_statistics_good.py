import torch
import torch.nn as nn
import torch.nn.functional as F


class SpectralConv1d(nn.Module):
    def __init__(self, cin, cout, modes):
        super().__init__()
        self.modes, self.cout = modes, cout
        scale = 1 / (cin * cout)
        self.weights = nn.Parameter(scale * torch.rand(cin, cout, modes, dtype=torch.cfloat))

    def forward(self, x):
        ft = torch.fft.rfft(x)
        out = torch.zeros(x.shape[0], self.cout, x.size(-1) // 2 + 1, dtype=torch.cfloat, device=x.device)
        out[:, :, :self.modes] = torch.einsum("bix,iox->box", ft[:, :, :self.modes], self.weights)
        return torch.fft.irfft(out, n=x.size(-1))


class FNO1d(nn.Module):
    def __init__(self, modes=6, width=12, depth=3):
        super().__init__()
        self.lift = nn.Linear(2, width)
        self.spec = nn.ModuleList([SpectralConv1d(width, width, modes) for _ in range(depth)])
        self.skip = nn.ModuleList([nn.Conv1d(width, width, 1) for _ in range(depth)])
        self.proj = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, 1))

    def get_grid(self, shape, device):
        b, n = shape[0], shape[1]
        g = torch.linspace(0, 1, n).reshape(1, n, 1).repeat(b, 1, 1)
        return g.to(device)

    def forward(self, u):
        x = torch.cat([u, self.get_grid(u.shape, u.device)], -1)
        x = self.lift(x).permute(0, 2, 1)
        for s, w in zip(self.spec, self.skip):
            x = F.gelu(s(x) + w(x))
        return self.proj(x.permute(0, 2, 1))


class UnitGaussian:
    def __init__(self, x, eps=1e-5):
        self.mean, self.std, self.eps = x.mean(0), x.std(0), eps

    def encode(self, x):
        return (x - self.mean) / (self.std + self.eps)

    def decode(self, x):
        return x * (self.std + self.eps) + self.mean

    def to(self, device):
        self.mean = self.mean.to(device)
        self.std = self.std.to(device)
        return self


def heat(u0, nu=0.01, t=1.0):
    k = torch.fft.rfftfreq(u0.size(1), d=1 / u0.size(1)) * 2 * torch.pi
    f = torch.fft.rfft(u0, dim=1)
    return torch.fft.irfft(f * torch.exp(-nu * t * k ** 2)[None, :, None], n=u0.size(1), dim=1)


def rel_l2(a, b):
    return ((a - b).flatten(1).norm(dim=1) / b.flatten(1).norm(dim=1)).mean()


if __name__ == "__main__":
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    grid = torch.linspace(0, 1, 33)[:-1]
    amp = torch.randn(40, 4)
    u0 = sum(amp[:, i:i + 1] * torch.sin(2 * torch.pi * (i + 1) * grid) for i in range(4)).unsqueeze(-1)
    u1 = heat(u0)
    xn, yn = UnitGaussian(u0), UnitGaussian(u1)
    a, b = xn.encode(u0), u1
    yn.to(device)
    model = FNO1d().to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for ep in range(4):
        for i in range(0, 32, 8):
            out = yn.decode(model(a[i:i + 8].to(device)))
            loss = rel_l2(out, b[i:i + 8].to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        test = rel_l2(yn.decode(model(a[32:].to(device))), b[32:].to(device)).item()
    print(round(loss.item(), 4), round(test, 4))
