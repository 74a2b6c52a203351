import torch
from torch import nn


class FeatureHook:
    def __init__(self, module):
        self.features = None
        self.handle = module.register_forward_hook(self.fn)

    def fn(self, m, i, o):
        self.features = o.detach().cpu()  # CAUSE

    def close(self):
        self.handle.remove()


def make(width):
    return nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 4, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))


class Distiller:
    def __init__(self, teacher, student, device, layer=2):
        self.device = device
        self.teacher = teacher.to(device).eval()
        self.student = student.to(device)
        self.t_hook = FeatureHook(teacher[layer])
        self.s_feat = None
        student[layer].register_forward_hook(self._keep)

    def _keep(self, m, i, o):
        self.s_feat = o

    def loss(self, x, y):
        with torch.no_grad():
            t = self.teacher(x)
        s = self.student(x)
        hint = nn.functional.mse_loss(self.s_feat, self.t_hook.features)  # FAIL
        soft = nn.functional.kl_div(s.log_softmax(1), t.softmax(1), reduction="batchmean")
        return nn.functional.cross_entropy(s, y) + soft + 0.1 * hint


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    d = Distiller(make(8), make(2), device)
    opt = torch.optim.Adam(d.student.parameters())
    for _ in range(2):
        x, y = torch.rand(3, 1, 4, 4).to(device), torch.randint(3, (3,)).to(device)
        loss = d.loss(x, y)  # CALL
        opt.zero_grad()
        loss.backward()
        opt.step()
    d.t_hook.close()


main()
