import io
import torch
from torch import nn


class MeanTeacher:
    def __init__(self, net, decay=0.9):
        self.avg = {k: v.detach().clone() for k, v in net.state_dict().items()}
        self.decay = decay

    def state_dict(self):
        return {"avg": self.avg, "decay": self.decay}

    def load_state_dict(self, sd):
        self.avg, self.decay = sd["avg"], sd["decay"]

    def update(self, net):
        for k, v in net.state_dict().items():
            self.avg[k] = self.avg[k] * self.decay + v.detach() * (1 - self.decay)  # FAIL


def save_checkpoint(f, net, opt, teacher, epoch):
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "teacher": teacher.state_dict(), "epoch": epoch}, f)


def load_checkpoint(f, net, opt, teacher):
    ck = torch.load(f, map_location="cpu")
    net.load_state_dict(ck["net"])
    opt.load_state_dict(ck["opt"])
    teacher.load_state_dict(ck["teacher"])  # CAUSE
    return ck["epoch"] + 1


def train(start, epochs, net, opt, teacher, device):
    for e in range(start, epochs):
        x = torch.randn(6, 3).to(device)
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        teacher.update(net)  # CALL
    return e


def build(device):
    net = nn.Linear(3, 2).to(device)
    return net, torch.optim.Adam(net.parameters()), MeanTeacher(net)


if __name__ == "__main__":
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    f = io.BytesIO()
    net, opt, teacher = build(device)
    save_checkpoint(f, net, opt, teacher, train(0, 2, net, opt, teacher, device))
    f.seek(0)
    net, opt, teacher = build(device)
    print(train(load_checkpoint(f, net, opt, teacher), 4, net, opt, teacher, device))  # CALL
