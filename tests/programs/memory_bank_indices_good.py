# instance discrimination: memory bank + kNN evaluation
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class Indexed(Dataset):
    def __init__(self, n, classes, seed):
        g = torch.Generator()
        g.manual_seed(seed)
        self.targets = torch.randint(classes, (n,), generator=g)
        self.data = torch.randn(n, 5, generator=g) + 2 * F.one_hot(self.targets, 5).float()

    def __len__(self):
        return self.data.shape[0]

    def __getitem__(self, index):
        return self.data[index], int(self.targets[index]), index


class AliasMethod(object):
    def __init__(self, probs):
        if probs.sum() > 1:
            probs = probs / probs.sum()
        K = len(probs)
        self.prob = torch.ones(K)
        self.alias = torch.arange(K)

    def cuda(self):
        self.prob = self.prob.cuda()
        self.alias = self.alias.cuda()

    def draw(self, N):
        K = self.alias.size(0)
        kk = torch.zeros(N, dtype=torch.long, device=self.prob.device).random_(0, K)
        prob = self.prob.index_select(0, kk)
        alias = self.alias.index_select(0, kk)
        b = torch.bernoulli(prob)
        oq = kk.mul(b.long())
        oj = alias.mul((1 - b).long())
        return oq + oj


class NCEAverage(nn.Module):
    def __init__(self, dim, size, K, T=0.07, momentum=0.5):
        super().__init__()
        self.K = K
        self.multinomial = AliasMethod(torch.ones(size))
        if torch.cuda.is_available():
            self.multinomial.cuda()
        self.register_buffer("params", torch.tensor([K, T, -1, momentum]))
        stdv = 1.0 / math.sqrt(dim / 3)
        self.register_buffer("memory", torch.rand(size, dim).mul_(2 * stdv).add_(-stdv))

    def forward(self, x, y):
        K, T, _, momentum = self.params.tolist()
        batch = x.size(0)
        idx = self.multinomial.draw(batch * (int(K) + 1)).view(batch, -1)
        idx.select(1, 0).copy_(y.data)
        weight = torch.index_select(self.memory, 0, idx.view(-1)).view(batch, int(K) + 1, -1)
        out = torch.bmm(weight, x.unsqueeze(2)).squeeze(2).div(T)
        with torch.no_grad():
            pos = torch.index_select(self.memory, 0, y).mul(momentum).add(x * (1 - momentum))
            self.memory.index_copy_(0, y, F.normalize(pos))
        return out


def knn_predict(feature, bank, labels, classes, k, t):
    sim = torch.mm(feature, bank)
    weight, indices = sim.topk(k=k, dim=-1)
    sim_labels = torch.gather(labels.expand(feature.size(0), -1), dim=-1, index=indices)
    weight = (weight / t).exp()
    one_hot = torch.zeros(feature.size(0) * k, classes, device=sim_labels.device)
    one_hot = one_hot.scatter(dim=-1, index=sim_labels.view(-1, 1), value=1.0)
    scores = (one_hot.view(feature.size(0), -1, classes) * weight.unsqueeze(dim=-1)).sum(dim=1)
    return scores.argsort(dim=-1, descending=True)


def evaluate(net, bank_loader, test_loader, device, classes=3, k=4):
    net.eval()
    bank = []
    with torch.no_grad():
        for data, _, _ in bank_loader:
            bank.append(F.normalize(net(data.to(device)), dim=1))
        bank = torch.cat(bank, dim=0).t().contiguous()
        labels = bank_loader.dataset.targets.clone().detach().to(bank.device)
        top1, total = 0.0, 0
        for data, target, _ in test_loader:
            data, target = data.to(device), target.to(device)
            feature = F.normalize(net(data), dim=1)
            pred = knn_predict(feature, bank, labels, classes, k, 0.1)
            total += data.size(0)
            top1 += (pred[:, 0] == target).float().sum().item()
    return top1 / total * 100


def main():
    torch.manual_seed(0)
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    train, test = Indexed(24, 3, 0), Indexed(12, 3, 1)
    net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 4)).to(device)
    nce = NCEAverage(4, len(train), 6).to(device)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    loader = DataLoader(train, batch_size=8, shuffle=True, drop_last=True)
    for data, _, index in loader:
        data, index = data.to(device), index.to(device)
        out = nce(F.normalize(net(data)), index)
        loss = F.cross_entropy(out, out.new_zeros(out.size(0), dtype=torch.long))
        opt.zero_grad(); loss.backward(); opt.step()
    acc = evaluate(net, DataLoader(train, batch_size=8), DataLoader(test, batch_size=6), device)
    print(0 <= acc <= 100)


if __name__ == '__main__':
    main()
