import torch
from torch import nn


def pairwise_distances(e):
    dot = e @ e.t()
    sq = dot.diag()
    return (sq.unsqueeze(0) - 2.0 * dot + sq.unsqueeze(1)).clamp(min=0)


def valid_positive_mask(labels, device):
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    eye = torch.eye(labels.size(0)).bool()
    return same & ~eye  # FAIL


def batch_hard(labels, embeddings, margin, device):
    d = pairwise_distances(embeddings)
    pos = (valid_positive_mask(labels, device).float() * d).max(1, keepdim=True)[0]  # CALL
    neg_mask = (labels.unsqueeze(0) != labels.unsqueeze(1)).float()
    neg = (d + d.max(1, keepdim=True)[0] * (1.0 - neg_mask)).min(1, keepdim=True)[0]
    return torch.relu(pos - neg + margin).mean()


def main(cfg):
    dev = cfg.pop("device")
    net = nn.Linear(6, 3).to(dev)
    opt = torch.optim.Adam(net.parameters(), **cfg)
    for _ in range(2):
        x, y = torch.randn(8, 6), torch.arange(8) % 4
        x, y = x.to(dev), y.to(dev)
        loss = batch_hard(y, net(x), 0.2, dev)  # CALL
        opt.zero_grad()
        loss.backward()
        opt.step()


if __name__ == "__main__":
    main({"lr": 1e-3, "device": torch.device("cuda" if torch.cuda.is_available() else "cpu")})  # CALL
