"""The averaged model rests on the CPU between its uses."""
import contextlib
import copy
import torch
from torch import nn


class Averaged:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = copy.deepcopy(model).cpu()
        for p in self.shadow.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.lerp_(p.detach().cpu(), 1 - self.decay)
        for s, b in zip(self.shadow.buffers(), model.buffers()):
            s.copy_(b)

    @contextlib.contextmanager
    def on(self, device):
        self.shadow.to(device)
        try:
            yield self.shadow
        finally:
            self.shadow.to("cpu")


def consistency(student_out, teacher_out):
    return (student_out.softmax(-1) - teacher_out.softmax(-1)).pow(2).mean()


if __name__ == "__main__":
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    student = nn.Sequential(nn.Linear(5, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 3)).to(device)
    teacher = Averaged(student)
    opt = torch.optim.SGD(student.parameters(), 0.1)
    for epoch in range(2):
        with teacher.on(device) as t:
            for _ in range(3):
                x, y = torch.randn(8, 5, device=device), torch.randint(0, 3, (8,), device=device)
                out = student(x)
                loss = nn.functional.cross_entropy(out, y) + consistency(out, t(x + 0.1 * torch.randn_like(x)))
                opt.zero_grad()
                loss.backward()
                opt.step()
        teacher.update(student)
        probe = torch.randn(4, 5)
        print(epoch, loss.item(), teacher.shadow.eval()(probe).argmax(1).tolist())
