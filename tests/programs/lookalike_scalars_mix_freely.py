"""0-dim tensors of the host mix with anything; written like a physics script."""
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

G = torch.tensor(1.0)
DT = torch.tensor(0.01)
SOFT = torch.tensor(0.05)


class Bodies:
    def __init__(self, n):
        self.pos = torch.randn(n, 2, device=device)
        self.vel = torch.zeros(n, 2, device=device)
        self.mass = torch.rand(n, device=device) + 0.5

    def acceleration(self):
        delta = self.pos[None] - self.pos[:, None]
        dist = (delta.pow(2).sum(-1) + SOFT**2).sqrt()
        return (G * self.mass[None, :, None] * delta / dist[..., None] ** 3).sum(1)

    def step(self):
        self.vel += 0.5 * DT * self.acceleration()
        self.pos += DT * self.vel
        self.vel += 0.5 * DT * self.acceleration()

    def energy(self):
        kinetic = 0.5 * (self.mass * self.vel.pow(2).sum(1)).sum()
        pair = torch.pdist(self.pos)
        i, j = torch.triu_indices(len(self.mass), len(self.mass), offset=1)
        potential = -(G * self.mass[i] * self.mass[j] / (pair + SOFT)).sum()
        return kinetic + potential


bodies = Bodies(5)
start = bodies.energy()
drift = torch.zeros(20)
for t in range(20):
    bodies.step()
    drift[t] = bodies.energy() - start
worst = drift.abs().max()
threshold = torch.where(worst > 1, torch.tensor(1.0), worst)
print(start.item(), worst, (bodies.vel * threshold).norm().item())
if start > torch.tensor(0.0):
    print("unbound")
mean = bodies.pos.mean(0)
scale = torch.quantile(drift.abs(), torch.tensor([0.5, 0.9]))
print((mean * scale[0]).tolist(), torch.max(drift).item())
