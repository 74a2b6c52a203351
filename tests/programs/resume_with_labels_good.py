import os, sys, tempfile, logging, shutil
import torch
import torch.nn as nn

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
log = logging.getLogger(__name__)

class AverageMeter(object):
    def __init__(self):
        self.reset()
    def reset(self):
        self.val = self.avg = self.sum = self.count = 0
    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

def save_checkpoint(state, is_best, path):
    torch.save(state, path)
    if is_best:
        shutil.copyfile(path, path + ".best")

def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        batch_size = target.size(0)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        res = []
        for k in topk:
            correct_k = correct[:k].reshape(-1).float().sum(0, keepdim=True)
            res.append(correct_k.mul_(100.0 / batch_size))
        return res

class SmallNet(nn.Module):
    def __init__(self, n=5):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1))
        self.classifier = nn.Linear(4, n)
    def forward(self, x):
        x = self.features(x)
        x = torch.flatten(x, 1)
        return self.classifier(x)

def make_optimizer(model):
    decay, no_decay = [], []
    for n, p in model.named_parameters():
        (no_decay if n.endswith("bias") else decay).append(p)
    return torch.optim.SGD([{"params": decay, "weight_decay": 1e-4}, {"params": no_decay, "weight_decay": 0.0}], lr=0.1, momentum=0.9)

def run_epoch(loader, model, crit, opt, gpu):
    losses, top1 = AverageMeter(), AverageMeter()
    for i, (images, target) in enumerate(loader):
        if gpu is not None:
            images = images.cuda(gpu, non_blocking=True)
        if torch.cuda.is_available():
            target = target.cuda(gpu, non_blocking=True)
        out = model(images)
        loss = crit(out, target)
        a1, a3 = accuracy(out, target, topk=(1, 3))
        losses.update(loss.item(), images.size(0))
        top1.update(a1[0].item(), images.size(0))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return losses.avg, top1.avg

def main(resume=None):
    gpu = 0 if torch.cuda.is_available() else None
    model = SmallNet()
    if gpu is not None:
        model = model.cuda(gpu)
    crit = nn.CrossEntropyLoss(label_smoothing=0.1)
    opt = make_optimizer(model)
    start_epoch, best = 0, torch.tensor(0.0)
    if resume and os.path.isfile(resume):
        loc = "cpu" if gpu is None else "cuda:{}".format(gpu)
        ck = torch.load(resume, map_location=loc)
        start_epoch = ck["epoch"]
        model.load_state_dict(ck["state_dict"])
        opt.load_state_dict(ck["optimizer"])
        log.info("loaded epoch %d", start_epoch)
    ds = [(torch.randn(3, 8, 8), i % 5) for i in range(10)]
    loader = torch.utils.data.DataLoader(ds, batch_size=5)
    path = os.path.join(tempfile.gettempdir(), "resume_with_labels.pt")
    hist = torch.zeros(4)
    for epoch in range(start_epoch, start_epoch + 2):
        l, a = run_epoch(loader, model, crit, opt, gpu)
        hist[epoch % 4] = l
        log.info("%d %.3f %.1f", epoch, l, a)
        save_checkpoint({"epoch": epoch + 1, "state_dict": model.state_dict(), "optimizer": opt.state_dict()}, a > best, path)
    w = {k: v.float() for k, v in torch.load(path, map_location="cpu")["state_dict"].items()}
    drift = sum((w[k].to(v.device) - v).abs().sum() for k, v in model.state_dict().items())
    log.info("drift %.4f", drift)
    return path

if __name__ == "__main__":
    p = main()
    main(p)
    os.remove(p)
