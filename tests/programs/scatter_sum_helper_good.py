"""Graph classification: disjoint union batches, attention with scatter softmax."""
import random
import torch
import torch.nn as nn
import torch.nn.functional as F


def scatter_sum(src, index, n):
    out = src.new_zeros((n,) + src.shape[1:])
    return out.index_add(0, index, src)


def scatter_softmax(src, index, n):
    m = torch.full((n,), float("-inf"), device=src.device).scatter_reduce(0, index, src, "amax")
    e = (src - m[index]).exp()
    return e / (scatter_sum(e, index, n)[index] + 1e-9)


class GATLayer(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.w = nn.Linear(i, o, bias=False)
        self.a = nn.Parameter(torch.randn(2 * o))

    def forward(self, x, ei):
        h = self.w(x)
        s, d = ei
        e = F.leaky_relu((torch.cat([h[s], h[d]], 1) * self.a).sum(1), 0.2)
        alpha = scatter_softmax(e, d, x.size(0))
        return F.elu(scatter_sum(alpha[:, None] * h[s], d, x.size(0)))


class GraphNet(nn.Module):
    def __init__(self, f, h, c):
        super().__init__()
        self.l1, self.l2 = GATLayer(f, h), GATLayer(h, h)
        self.virtual = nn.Parameter(torch.zeros(1, h))
        self.out = nn.Linear(h, c)

    def forward(self, batch):
        x = self.l1(batch["x"], batch["ei"])
        x = self.l2(x + self.virtual, batch["ei"])
        n = int(batch["batch"].max()) + 1
        cnt = torch.bincount(batch["batch"], minlength=n).unsqueeze(1)
        return self.out(scatter_sum(x, batch["batch"], n) / cnt)


def random_graph():
    n = random.randint(4, 7)
    ei = torch.randint(0, n, (2, 2 * n))
    ei = torch.cat([ei, ei.flip(0), torch.arange(n).repeat(2, 1)], 1)
    return {"x": torch.randn(n, 3), "ei": ei, "y": random.randint(0, 1)}


def collate(graphs, device):
    xs, eis, bs, off = [], [], [], 0
    for k, g in enumerate(graphs):
        xs.append(g["x"]); eis.append(g["ei"] + off)
        bs.append(torch.full((len(g["x"]),), k))
        off += len(g["x"])
    out = {"x": torch.cat(xs), "ei": torch.cat(eis, 1), "batch": torch.cat(bs)}
    out = {k: v.to(device) for k, v in out.items()}
    return out, torch.tensor([g["y"] for g in graphs], device=device)


def main():
    random.seed(0); torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = [random_graph() for _ in range(12)]
    net = GraphNet(3, 8, 2).to(device)
    opt = torch.optim.Adam(net.parameters(), 1e-2)
    for ep in range(2):
        random.shuffle(data)
        right = torch.zeros((), dtype=torch.long, device=device)
        for i in range(0, 12, 4):
            batch, y = collate(data[i:i + 4], device)
            logits = net(batch)
            loss = F.cross_entropy(logits, y)
            opt.zero_grad(); loss.backward(); opt.step()
            right += (logits.argmax(1) == y).sum()
        print(ep, loss.item(), right.item() / 12)
    emb = [net(collate([g], device)[0]).detach().squeeze(0).cpu().numpy() for g in data[:3]]
    print(len(emb))


if __name__ == "__main__":
    main()
