from typing import NamedTuple

import torch
from torch import nn
from torch.utils.data import DataLoader


class GraphBatch(NamedTuple):
    nodes: torch.Tensor
    senders: torch.Tensor
    receivers: torch.Tensor
    graph_ids: torch.Tensor
    targets: torch.Tensor


def collate(graphs):
    nodes, s, r, ids, ys = [], [], [], [], []
    offset = 0
    for i, (x, edges, y) in enumerate(graphs):
        nodes.append(x)
        s.append(edges[0] + offset)
        r.append(edges[1] + offset)
        ids.append(torch.full((len(x),), i))
        ys.append(y)
        offset += len(x)
    return GraphBatch(torch.cat(nodes), torch.cat(s), torch.cat(r), torch.cat(ids), torch.stack(ys))


class MPNN(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.msg = nn.Linear(2 * d, d)
        self.out = nn.Linear(d, 1)

    def forward(self, g):
        m = self.msg(torch.cat([g.nodes[g.senders], g.nodes[g.receivers]], -1)).relu()
        h = g.nodes.new_zeros(g.nodes.shape).index_add_(0, g.receivers, m)
        pooled = h.new_zeros(len(g.targets), h.size(1)).index_add_(0, g.graph_ids, h)
        return self.out(pooled).squeeze(-1)


def make_graph(n):
    return torch.randn(n, 4), torch.randint(0, n, (2, 2 * n)), torch.randn(())


def main(device):
    net = MPNN(4).to(device)
    opt = torch.optim.Adam(net.parameters())
    for batch in DataLoader([make_graph(n) for n in (3, 4, 5, 6)], batch_size=2, collate_fn=collate):
        batch = GraphBatch(*(t.to(device) for t in batch))
        loss = (net(batch) - batch.targets).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


if __name__ == "__main__":
    main(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
