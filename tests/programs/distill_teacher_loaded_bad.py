import io
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class ConvBN(nn.Sequential):
    def __init__(self, cin, cout, k=3, s=1):
        super().__init__(
            nn.Conv2d(cin, cout, k, s, k // 2, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True)
        )


class ResNetish(nn.Module):
    def __init__(self, width=8, depth=2, num_classes=4):
        super().__init__()
        self.stem = ConvBN(3, width)
        self.layers = nn.Sequential(*[ConvBN(width, width) for _ in range(depth)])
        self.fc = nn.Linear(width, num_classes)

    def forward(self, x):
        x = self.layers(self.stem(x))  # FAIL
        return self.fc(x.mean((2, 3)))


MODELS = {
    "student": lambda: ResNetish(width=4, depth=1),
    "teacher": lambda: ResNetish(width=16, depth=3),
}


class KDLoss(nn.Module):
    def __init__(self, T=4.0, alpha=0.9):
        super().__init__()
        self.T, self.alpha = T, alpha

    def forward(self, student_logits, labels, teacher_logits):
        soft = F.kl_div(
            F.log_softmax(student_logits / self.T, dim=1),
            F.softmax(teacher_logits / self.T, dim=1),
            reduction="batchmean",
        )
        hard = F.cross_entropy(student_logits, labels)
        return soft * self.alpha * self.T**2 + hard * (1 - self.alpha)


def load_teacher(path, device):
    teacher = MODELS["teacher"]()
    ckpt = torch.load(path, map_location=device)
    teacher.load_state_dict(ckpt["model"])
    for p in teacher.parameters():
        p.requires_grad_(False)
    return teacher.eval()  # CAUSE


def pretrain_teacher(path, loader, device):
    model = MODELS["teacher"]().to(device)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for x, y in loader:
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        opt.zero_grad()
        loss.backward()
        opt.step()
    torch.save({"model": model.state_dict(), "acc": 0.0}, path)


def accuracy(output, target, topk=(1,)):
    maxk = max(topk)
    _, pred = output.topk(maxk, 1, True, True)
    correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
    return [correct[:k].reshape(-1).float().sum(0) * (100.0 / target.size(0)) for k in topk]


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.randn(32, 3, 8, 8)
    loader = DataLoader(TensorDataset(x, x.mean((1, 2, 3)).mul(10).long() % 4), batch_size=8)
    path = os.path.join(tempfile.mkdtemp(), "teacher.pth")
    pretrain_teacher(path, loader, device)

    teacher = load_teacher(path, device)
    student = MODELS["student"]().to(device)
    criterion = KDLoss().to(device)
    opt = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(2):
        student.train()
        top1 = 0.0
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            with torch.no_grad():
                teacher_logits = teacher(images)
            logits = student(images)
            loss = criterion(logits, labels, teacher_logits)
            opt.zero_grad()
            loss.backward()
            opt.step()
            top1 += accuracy(logits, labels)[0].item()
        print(epoch, loss.item(), top1 / len(loader))


if __name__ == "__main__":
    main()
