import torch
from torch import nn


class DistillationWrapper:
    """Keeps a student and a teacher together."""

    def __init__(self, student, teacher, device, T=2.0):
        self.student = student.to(device)
        self.teacher = teacher
        self.teacher.eval()
        self.device = device
        self.T = T

    def loss(self, x, y):
        with torch.no_grad():
            soft = (self.teacher(x) / self.T).softmax(-1)  # FAIL
        logits = self.student(x)
        kd = nn.functional.kl_div((logits / self.T).log_softmax(-1), soft, reduction="batchmean")
        return nn.functional.cross_entropy(logits, y) + kd * self.T**2


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    wrapper = DistillationWrapper(nn.Linear(6, 3), nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3)), device)  # CAUSE
    opt = torch.optim.Adam(wrapper.student.parameters())
    for _ in range(2):
        x = torch.randn(4, 6, device=device)
        y = torch.randint(3, (4,), device=device)
        loss = wrapper.loss(x, y)  # CALL
        opt.zero_grad()
        loss.backward()
        opt.step()


main()  # CALL
