import argparse, sys
import torch
from torch import nn
import torch.nn.functional as F

p = argparse.ArgumentParser(description="kNN evaluation")
p.add_argument("--k", default=3, type=int)
p.add_argument("--temperature", default=0.07, type=float)
p.add_argument("--use_cuda", action="store_true", default=torch.cuda.is_available())
p.add_argument("--dump", default=None)
args = p.parse_args([])


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(1, 4, 3)
        self.f = nn.Linear(4, 6)

    def forward(self, x):
        return self.f(F.relu(self.c(x)).mean((2, 3)))


@torch.no_grad()
def extract_features(model, loader, use_cuda=True):
    features = None
    for samples, index in loader:
        if use_cuda:
            samples = samples.cuda(non_blocking=True)
            index = index.cuda(non_blocking=True)
        feats = model(samples).clone()
        if features is None:
            features = torch.zeros(12, feats.shape[-1])
            if use_cuda:
                features = features.cuda(non_blocking=True)
            print(f"Storing features into tensor of shape {features.shape}")
        features.index_copy_(0, index, feats)
    return features


@torch.no_grad()
def knn_classifier(train_features, train_labels, test_features, test_labels, k, T, num_classes=3):
    top1, total = 0.0, 0
    train_features = train_features.t()
    n = test_labels.shape[0]
    chunk = n // 2
    retrieval_one_hot = torch.zeros(k, num_classes)  # CAUSE
    for idx in range(0, n, chunk):
        features = test_features[idx: min(idx + chunk, n), :]
        targets = test_labels[idx: min(idx + chunk, n)]
        bs = targets.shape[0]
        similarity = torch.mm(features, train_features)
        distances, indices = similarity.topk(k, largest=True, sorted=True)
        candidates = train_labels.view(1, -1).expand(bs, -1)
        retrieved = torch.gather(candidates, 1, indices)
        retrieval_one_hot.resize_(bs * k, num_classes).zero_()
        retrieval_one_hot.scatter_(1, retrieved.view(-1, 1), 1)  # FAIL
        w = distances.clone().div_(T).exp_()
        probs = torch.sum(torch.mul(retrieval_one_hot.view(bs, -1, num_classes), w.view(bs, -1, 1)), 1)
        _, pred = probs.sort(1, True)
        correct = pred.eq(targets.data.view(-1, 1))
        top1 += correct.narrow(1, 0, 1).sum().item()
        total += targets.size(0)
    return top1 * 100.0 / total


model = Backbone()
if args.use_cuda:
    model.cuda()
model.eval()
mk = lambda: [(torch.randn(4, 1, 6, 6), torch.arange(i * 4, i * 4 + 4)) for i in range(3)]
train_features = F.normalize(extract_features(model, mk(), args.use_cuda), dim=1, p=2)
test_features = F.normalize(extract_features(model, mk(), args.use_cuda), dim=1, p=2)
train_labels = torch.tensor([i % 3 for i in range(12)]).long()
test_labels = torch.tensor([i % 3 for i in range(12)]).long()
if args.use_cuda:
    train_labels = train_labels.cuda()
    test_labels = test_labels.cuda()
print(knn_classifier(train_features, train_labels, test_features, test_labels, args.k, args.temperature))
