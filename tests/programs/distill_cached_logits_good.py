import torch
import torch.nn.functional as F
from torch import nn


class TeacherCache:
    """Logits of the teacher, computed once and kept on the host."""

    def __init__(self, teacher, loader, device):
        self.rows = {}
        teacher.eval()
        with torch.no_grad():
            for ids, x, _ in loader:
                for i, row in zip(ids.tolist(), teacher(x.to(device)).cpu()):
                    self.rows[i] = row

    def lookup(self, ids):
        return torch.stack([self.rows[i] for i in ids.tolist()])


def kd_loss(student_logits, teacher_logits, labels, t=2.0, mix=0.5):
    soft = F.kl_div(
        F.log_softmax(student_logits / t, 1), F.softmax(teacher_logits / t, 1), reduction="batchmean"
    )
    return mix * t * t * soft + (1 - mix) * F.cross_entropy(student_logits, labels)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
rows = [(i, torch.randn(6), i % 3) for i in range(20)]
loader = torch.utils.data.DataLoader(rows, batch_size=5)
teacher = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3)).to(device)
student = nn.Linear(6, 3).to(device)
cache = TeacherCache(teacher, loader, device)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
for epoch in range(2):
    for ids, x, labels in loader:
        logits = student(x.to(device))
        loss = kd_loss(logits, cache.lookup(ids).to(device), labels.to(device))
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
