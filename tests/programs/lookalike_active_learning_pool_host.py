import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
pool = TensorDataset(torch.randn(60, 4), torch.randint(0, 3, (60,)))
labelled = torch.zeros(60, dtype=torch.bool)
labelled[torch.randperm(60)[:10]] = True


def train(net, idx):
    opt = torch.optim.Adam(net.parameters(), 0.01)
    for x, y in DataLoader(Subset(pool, idx), 5, shuffle=True):
        loss = nn.functional.cross_entropy(net(x.to(device)), y.to(device))
        opt.zero_grad(); loss.backward(); opt.step()
    return loss


@torch.no_grad()
def uncertainty(net, idx, passes=3):
    net.train()
    probs = []
    for x, _ in DataLoader(Subset(pool, idx), 16):
        x = x.to(device)
        probs.append(torch.stack([net(x).softmax(-1) for _ in range(passes)]).mean(0))
    p = torch.cat(probs)
    return -(p * p.clamp(min=1e-9).log()).sum(-1)


net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 3)).to(device)
for rnd in range(2):
    train(net, labelled.nonzero().squeeze(1).tolist())
    rest = (~labelled).nonzero().squeeze(1)
    h = uncertainty(net, rest.tolist()).cpu()
    chosen = rest[h.topk(5).indices]
    labelled[chosen] = True
    print(rnd, labelled.sum().item(), h.mean().item())
