import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def get_args(argv=None):
    p = argparse.ArgumentParser('kd')
    p.add_argument('--T', type=float, default=4.)
    p.add_argument('--alpha', type=float, default=.7)
    p.add_argument('--gpu', type=int, default=0)
    p.add_argument('--epochs', type=int, default=1)
    return p.parse_args(argv)


def conv_net(width):
    return nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU(True),
                         nn.Conv2d(width, width, 3, 2, 1), nn.ReLU(True), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(width, 5))


class KDLoss(nn.Module):
    def __init__(self, T, alpha, class_freq=None):
        super().__init__()
        self.T, self.alpha = T, alpha
        self.prior = torch.log(class_freq) if class_freq is not None else None  # CAUSE

    def forward(self, s, t, y):
        if self.prior is not None:
            s = s + self.prior  # FAIL
        soft = F.kl_div(F.log_softmax(s / self.T, 1), F.softmax(t / self.T, 1), reduction='batchmean') * self.T ** 2
        return self.alpha * soft + (1 - self.alpha) * F.cross_entropy(s, y)


def evaluate(model, loader, device):
    model.eval()
    hit = n = 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x.to(device)).argmax(1)
            hit += (out.cpu() == y).sum().item()
            n += len(y)
    return hit / n


def main(args):
    device = torch.device('cuda:%d' % args.gpu) if torch.cuda.is_available() else torch.device('cpu')
    x, y = torch.rand(32, 3, 16, 16), torch.randint(0, 5, (32,))
    loader = DataLoader(TensorDataset(x, y), 8)
    teacher, student = conv_net(16), conv_net(4)
    for m in (teacher, student):
        m.to(device)
    for p in teacher.parameters():
        p.requires_grad = False
    teacher.eval()
    criterion = KDLoss(args.T, args.alpha, torch.bincount(y, minlength=5).float() / len(y) + 1e-3).to(device)
    opt = torch.optim.SGD(student.parameters(), lr=.1, momentum=.9)
    for epoch in range(args.epochs):
        student.train()
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            with torch.no_grad():
                t_logits = teacher(x)
            loss = criterion(student(x), t_logits, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, evaluate(student, loader, device))


if __name__ == '__main__':
    main(get_args([]))
