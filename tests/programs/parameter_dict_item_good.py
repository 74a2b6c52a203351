import torch
import torch.nn as nn


class Mixture(nn.Module):
    def __init__(self, k, d):
        super().__init__()
        self.means = nn.ParameterList([nn.Parameter(torch.randn(d)) for _ in range(k)])
        self.logits = nn.Parameter(torch.zeros(k))
        self.heads = nn.ModuleDict({f"h{i}": nn.Linear(d, 1) for i in range(k)})
        self.params = nn.ParameterDict()
        self.params["temp"] = nn.Parameter(torch.ones(1))

    def forward(self, x):
        d = torch.stack([(x - m).norm(dim=-1) for m in self.means], -1)
        w = (self.logits - d / self.params["temp"]).softmax(-1)
        o = torch.cat([self.heads[k](x) for k in self.heads], -1)
        return (w * o).sum(-1)


dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
mix = Mixture(3, 4).to(dev)
print(mix(torch.randn(5, 4).to(dev)).shape)
