"""Conditional generator: labels as one-hot vectors next to the noise."""
import torch
from torch import nn

N_CLASSES, Z_DIM, BATCH = 5, 6, 10


def one_hot(labels, n_classes):
    out = torch.zeros(labels.size(0), n_classes)  # CAUSE
    return out.scatter_(1, labels.unsqueeze(1), 1.0)  # FAIL


class CondGenerator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(Z_DIM + N_CLASSES, 32), nn.ReLU(), nn.Linear(32, 16), nn.Tanh())

    def forward(self, z, y):
        return self.net(torch.cat([z, y], dim=1))


class CondCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16 + N_CLASSES, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, img, y):
        return self.net(torch.cat([img, y], dim=1))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    gen, critic = CondGenerator().to(device), CondCritic().to(device)
    g_opt = torch.optim.Adam(gen.parameters(), 1e-3)
    c_opt = torch.optim.Adam(critic.parameters(), 1e-3)
    bce = nn.BCEWithLogitsLoss()
    for i in range(3):
        imgs = torch.rand(BATCH, 16, device=device) * 2 - 1
        labels = torch.randint(0, N_CLASSES, (BATCH,), device=device)
        y = one_hot(labels, N_CLASSES)
        z = torch.randn(BATCH, Z_DIM, device=device)
        ones = torch.ones(BATCH, 1, device=device)

        fake = gen(z, y)
        c_loss = bce(critic(imgs, y), ones) + bce(critic(fake.detach(), y), torch.zeros_like(ones))
        c_opt.zero_grad()
        c_loss.backward()
        c_opt.step()

        g_loss = bce(critic(fake, y), ones)
        g_opt.zero_grad()
        g_loss.backward()
        g_opt.step()
        print(f"[{i}] critic {c_loss.item():.3f} generator {g_loss.item():.3f}")


if __name__ == "__main__":
    main()
