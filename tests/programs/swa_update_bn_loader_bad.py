import copy
import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Args:
    epochs = 4
    swa_start = 2
    swa_lr = 0.02
    lr_init = 0.1
    wd = 1e-4
    seed = 1
    eval_freq = 2


def schedule(epoch, args):
    t = epoch / args.swa_start
    lr_ratio = args.swa_lr / args.lr_init
    if t <= 0.5:
        factor = 1.0
    elif t <= 0.9:
        factor = 1.0 - (1.0 - lr_ratio) * (t - 0.5) / 0.4
    else:
        factor = lr_ratio
    return args.lr_init * factor


def adjust_learning_rate(optimizer, lr):
    for param_group in optimizer.param_groups:
        param_group["lr"] = lr


def moving_average(net1, net2, alpha=1.0):
    for param1, param2 in zip(net1.parameters(), net2.parameters()):
        param1.data *= 1.0 - alpha
        param1.data += param2.data * alpha


def _check_bn(module, flag):
    if isinstance(module, nn.modules.batchnorm._BatchNorm):
        flag[0] = True


def check_bn(model):
    flag = [False]
    model.apply(lambda module: _check_bn(module, flag))
    return flag[0]


def bn_update(loader, model, device):
    if not check_bn(model):
        return
    model.train()
    momenta = {}
    for m in model.modules():
        if isinstance(m, nn.modules.batchnorm._BatchNorm):
            m.reset_running_stats()
            momenta[m] = m.momentum
    n = 0
    with torch.no_grad():
        for input, _ in loader:
            b = input.size(0)
            momentum = b / (n + b)
            for module in momenta.keys():
                module.momentum = momentum
            model(input)  # CAUSE
            n += b
    for m, old in momenta.items():
        m.momentum = old


class SmallCNN(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, num_classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))  # FAIL
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(x.mean(dim=(2, 3)))


def train_epoch(loader, model, criterion, optimizer, device):
    loss_sum, correct = 0.0, 0.0
    model.train()
    for input, target in loader:
        input, target = input.to(device), target.to(device)
        output = model(input)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_sum += loss.item() * input.size(0)
        correct += output.max(1)[1].eq(target).sum().item()
    return {"loss": loss_sum / len(loader.dataset), "accuracy": correct / len(loader.dataset) * 100.0}


@torch.no_grad()
def evaluate(loader, model, criterion, device):
    model.eval()
    losses = [criterion(model(x.to(device)), y.to(device)).item() for x, y in loader]
    return sum(losses) / len(losses)


def main():
    args = Args()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.randn(48, 1, 8, 8)
    y = (x.mean((1, 2, 3)) * 8).round().clamp(-1, 1).long() + 1
    loaders = {"train": DataLoader(TensorDataset(x, y), batch_size=12, shuffle=True), "test": DataLoader(TensorDataset(x, y), batch_size=24)}
    model = SmallCNN()
    swa_model = copy.deepcopy(model)
    model.to(device)
    swa_model.to(device)
    swa_n = 0
    criterion = F.cross_entropy
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr_init, momentum=0.9, weight_decay=args.wd)
    for epoch in range(args.epochs):
        start = time.time()
        lr = schedule(epoch, args)
        adjust_learning_rate(optimizer, lr)
        res = train_epoch(loaders["train"], model, criterion, optimizer, device)
        if epoch + 1 >= args.swa_start:
            moving_average(swa_model, model, 1.0 / (swa_n + 1))
            swa_n += 1
            if epoch == args.epochs - 1 or epoch % args.eval_freq == args.eval_freq - 1:
                bn_update(loaders["train"], swa_model, device)
                res["swa"] = evaluate(loaders["test"], swa_model, criterion, device)
        print(epoch, lr, res, math.floor(time.time() - start) // 1000)


main()
