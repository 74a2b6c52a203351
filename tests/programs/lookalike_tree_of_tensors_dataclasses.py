from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


def tree_to(x: Any, device: torch.device) -> Any:
    if torch.is_tensor(x):
        return x.to(device)
    if dataclasses.is_dataclass(x):
        return dataclasses.replace(x, **{f.name: tree_to(getattr(x, f.name), device) for f in dataclasses.fields(x)})
    if isinstance(x, dict):
        return {k: tree_to(v, device) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(tree_to(v, device) for v in x)
    return x


@dataclass(frozen=True)
class Graph:
    nodes: torch.Tensor
    edges: torch.Tensor
    batch: torch.Tensor
    names: list[str]

    @staticmethod
    def collate(graphs: list["Graph"]) -> "Graph":
        offset, edges, batch = 0, [], []
        for i, g in enumerate(graphs):
            edges.append(g.edges + offset)
            batch.append(torch.full((len(g.nodes),), i))
            offset += len(g.nodes)
        return Graph(torch.cat([g.nodes for g in graphs]), torch.cat(edges, 1), torch.cat(batch), sum((g.names for g in graphs), []))


@dataclass(frozen=True)
class Example:
    graph: Graph
    target: torch.Tensor
    extra: dict


class GIN(nn.Module):
    def __init__(self, d: int = 6):
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.mlp = nn.Sequential(nn.Linear(3, d), nn.ReLU(), nn.Linear(d, d))
        self.out = nn.Linear(d, 1)

    def forward(self, g: Graph) -> torch.Tensor:
        agg = torch.zeros_like(g.nodes).index_add_(0, g.edges[1], g.nodes[g.edges[0]])
        h = self.mlp((1 + self.eps) * g.nodes + agg)
        pooled = h.new_zeros(int(g.batch.max()) + 1, h.size(1)).index_add_(0, g.batch, h)
        return self.out(pooled).squeeze(-1)


def example(n: int) -> Example:
    gs = [Graph(torch.randn(k, 3), torch.randint(0, k, (2, 2 * k)), torch.zeros(k), [f"g{k}"]) for k in range(3, 3 + n)]
    return Example(Graph.collate(gs), torch.randn(n), {"weight": torch.rand(n), "split": "train", "ids": [1, 2]})


def main() -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = GIN().to(device)
    opt = torch.optim.Adam(net.parameters())
    for step in range(3):
        host = example(4)
        ex = tree_to(host, device)
        loss = (ex.extra["weight"] * (net(ex.graph) - ex.target).pow(2)).sum() / host.extra["weight"].sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(step, loss.item(), ex.graph.names, host.target.mean().item())


main()
