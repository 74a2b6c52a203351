"""Knowledge distillation with hard labels, soft targets and a feature hint."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def get_device():
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("cpu")


class MLP(nn.Module):
    def __init__(self, width, depth, classes=5):
        super().__init__()
        self.stem = nn.Linear(12, width)
        self.body = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.out = nn.Linear(width, classes)

    def forward(self, x):
        h = F.relu(self.stem(x))
        for layer in self.body:
            h = F.relu(layer(h))
        return self.out(h), h


class Distiller:
    def __init__(self, teacher, student, device, temperature=3.0, alpha=0.5):
        self.teacher = teacher.to(device)
        self.student = student.to(device)
        self.hint = nn.Linear(16, 48)
        self.hint.to(device)
        self.device = device
        self.T = temperature
        self.alpha = alpha
        params = list(self.student.parameters()) + list(self.hint.parameters())
        self.opt = torch.optim.SGD(params, lr=0.05, momentum=0.9)

    def pretrain(self, batches):
        opt = torch.optim.Adam(self.teacher.parameters(), lr=1e-2)
        for x, y in batches:
            x, y = x.to(self.device), y.to(self.device)
            loss = F.cross_entropy(self.teacher(x)[0], y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        for p in self.teacher.parameters():
            p.requires_grad_(False)

    def step(self, x, y):
        x = x.to(self.device)
        y = y.to(self.device)
        with torch.no_grad():
            t_logits, t_feat = self.teacher(x)
        s_logits, s_feat = self.student(x)
        soft = F.kl_div(
            F.log_softmax(s_logits / self.T, dim=1),
            F.softmax(t_logits / self.T, dim=1),
            reduction="batchmean",
        ) * (self.T**2)
        loss = self.alpha * F.cross_entropy(s_logits, y) + (1 - self.alpha) * soft
        loss = loss + 0.1 * F.mse_loss(self.hint(s_feat), t_feat)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


if __name__ == "__main__":
    torch.manual_seed(21)
    prototypes = torch.randn(5, 12)
    batches = []
    for _ in range(6):
        y = torch.randint(0, 5, (20,))
        batches.append((prototypes[y] + 0.3 * torch.randn(20, 12), y))
    device = get_device()
    distiller = Distiller(MLP(48, 2), MLP(16, 1), device)
    distiller.pretrain(batches)
    losses = [distiller.step(x, y) for x, y in batches]
    print("steps", len(losses))
    correct = 0
    for x, y in batches:
        guess = distiller.student(x.to(device))[0].argmax(1)
        correct += (guess == y.to(device)).sum().item()
    print("guesses right:", correct > 0)
