import torch
import torch.nn as nn
import torch.nn.functional as F


class XBM:
    """cross batch memory"""

    def __init__(self, size, dim, device):
        self.K = size
        self.feats = torch.zeros(size, dim, device=device)
        self.targets = torch.zeros(size, dtype=torch.long, device=device)
        self.ptr = 0

    @property
    def is_full(self):
        return self.targets[-1].item() != 0

    def get(self):
        return (self.feats, self.targets) if self.is_full else (self.feats[:self.ptr], self.targets[:self.ptr])

    def enqueue_dequeue(self, feats, targets):
        q = len(targets)
        if self.ptr + q > self.K:
            self.ptr = 0
        self.feats[self.ptr:self.ptr + q] = feats
        self.targets[self.ptr:self.ptr + q] = targets
        self.ptr += q


class ArcMargin(nn.Module):
    def __init__(self, dim, n, s=30., m=0.3):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n, dim))
        nn.init.xavier_uniform_(self.weight)
        self.s, self.m = s, m

    def forward(self, x, label):
        cos = F.linear(F.normalize(x), F.normalize(self.weight))
        theta = torch.acos(cos.clamp(-1 + 1e-7, 1 - 1e-7))
        one_hot = torch.zeros(cos.size(), device=cos.device)
        one_hot.scatter_(1, label.view(-1, 1).long(), 1)
        return self.s * (one_hot * torch.cos(theta + self.m) + (1 - one_hot) * cos)


def contrastive(q, ql, k, kl, margin=0.5):
    sim = q @ k.t()
    same = ql[:, None].eq(kl[None])
    pos = (1 - sim)[same & (sim < 1 - 1e-5)]
    neg = F.relu(sim - margin)[~same]
    return (pos.sum() + neg.sum()) / len(q)


@torch.no_grad()
def recall_at_k(feats, labels, k=1):
    sim = feats @ feats.T
    sim.fill_diagonal_(-1)
    nn_idx = sim.topk(k, dim=1)[1]
    return (labels[nn_idx] == labels[:, None]).any(1).float().mean().item()


def run():
    torch.manual_seed(0)
    dev = torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")
    enc = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 8)).to(dev)
    head = ArcMargin(8, 5)
    head.to(dev)
    xbm = XBM(24, 8, dev)
    opt = torch.optim.SGD([{"params": enc.parameters()}, {"params": head.parameters(), "lr": 0.1}], lr=0.05)
    for it in range(4):
        x, y = torch.randn(8, 10).to(dev), torch.randint(1, 5, (8,)).to(dev)
        z = F.normalize(enc(x))
        loss = F.cross_entropy(head(z, y), y)
        xbm.enqueue_dequeue(z.detach(), y.detach())
        if it > 1:
            k, kl = xbm.get()
            loss = loss + contrastive(z, y, k, kl)
        opt.zero_grad(); loss.backward(); opt.step()
        print(it, float(loss))
    all_f, all_l = [], []
    enc.eval()
    for _ in range(2):
        xb, yb = torch.randn(6, 10), torch.randint(0, 3, (6,))
        with torch.no_grad():
            all_f.append(F.normalize(enc(xb.to(dev))).cpu())
        all_l.append(yb)
    print(recall_at_k(torch.cat(all_f), torch.cat(all_l)))


run()
