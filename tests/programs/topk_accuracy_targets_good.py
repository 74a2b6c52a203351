import torch
import torch.nn as nn


class AverageMeter:
    def __init__(self, name):
        self.name, self.sum, self.count = name, 0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / target.size(0)) for k in topk]


def validate(val_loader, model, criterion, gpu):
    losses, top1 = AverageMeter("Loss"), AverageMeter("Acc@1")
    model.eval()
    with torch.no_grad():
        for i, (images, target) in enumerate(val_loader):
            if gpu is not None and torch.cuda.is_available():
                images = images.cuda(gpu, non_blocking=True)
            if torch.cuda.is_available():
                target = target.cuda(gpu, non_blocking=True)
            output = model(images)
            loss = criterion(output, target)
            acc1, acc2 = accuracy(output, target, topk=(1, 2))
            losses.update(loss.item(), images.size(0))
            top1.update(acc1[0], images.size(0))
    return top1.avg


def main_worker(gpu):
    model = nn.Sequential(nn.Flatten(), nn.Linear(12, 5))
    if torch.cuda.is_available():
        torch.cuda.set_device(gpu)
        model = model.cuda(gpu)
        criterion = nn.CrossEntropyLoss().cuda(gpu)
    else:
        criterion = nn.CrossEntropyLoss()
    loader = [(torch.rand(4, 3, 2, 2), torch.randint(0, 5, (4,))) for _ in range(3)]
    validate(loader, model, criterion, gpu)


if __name__ == "__main__":
    main_worker(0)
