"""Knowledge distillation from a wide network into a narrow one."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def mlp(width, n_in=12, n_out=4):
    return nn.Sequential(nn.Linear(n_in, width), nn.ReLU(), nn.Linear(width, n_out))


class Distiller:
    """KL divergence against the softened teacher, mixed with the ordinary loss."""

    def __init__(self, teacher, student, device, T=3.0, alpha=0.7):
        self.teacher = teacher.eval()  # CAUSE
        self.student = student.to(device)
        self.device = device
        self.T, self.alpha = T, alpha
        for p in self.teacher.parameters():
            p.requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.student.parameters(), lr=5e-3)

    def loss(self, student_logits, teacher_logits, labels):
        soft = F.kl_div(
            F.log_softmax(student_logits / self.T, dim=1),
            F.softmax(teacher_logits / self.T, dim=1),
            reduction="batchmean",
        ) * self.T ** 2
        hard = F.cross_entropy(student_logits, labels)
        return self.alpha * soft + (1 - self.alpha) * hard

    def step(self, inputs, labels):
        inputs, labels = inputs.to(self.device), labels.to(self.device)
        with torch.no_grad():
            teacher_logits = self.teacher(inputs)  # FAIL
        student_logits = self.student(inputs)
        loss = self.loss(student_logits, teacher_logits, labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    torch.manual_seed(0)
    ds = TensorDataset(torch.randn(64, 12), torch.randint(0, 4, (64,)))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    distiller = Distiller(teacher=mlp(64), student=mlp(8), device=device)
    for epoch in range(2):
        losses = [distiller.step(x, y) for x, y in DataLoader(ds, batch_size=16)]
        print(f"epoch {epoch}: {sum(losses) / len(losses):.4f}")
    n_t = sum(p.numel() for p in distiller.teacher.parameters())
    n_s = sum(p.numel() for p in distiller.student.parameters())
    print(f"{n_t} -> {n_s} parameters")


if __name__ == "__main__":
    main()
