from __future__ import annotations
from dataclasses import dataclass, fields, replace
import torch
from torch import nn, Tensor


@dataclass(frozen=True)
class Transition:
    obs: Tensor
    act: Tensor
    rew: Tensor

    def map(self, fn) -> Transition:
        return Transition(**{f.name: fn(getattr(self, f.name)) for f in fields(self)})

    def to(self, device) -> Transition:
        return self.map(lambda t: t.to(device))

    @staticmethod
    def stack(items: list[Transition]) -> Transition:
        return Transition(*(torch.stack([getattr(i, f.name) for i in items]) for f in fields(Transition)))


store = [Transition(torch.randn(3), torch.tensor(i % 2), torch.tensor(float(i))) for i in range(8)]
baseline = torch.stack([t.rew for t in store]).mean()
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
pi = nn.Linear(3, 2).to(device)
host = Transition.stack(store)
host = replace(host, rew=host.rew - baseline)
dev = host.to(device)
logp = pi(dev.obs).log_softmax(-1).gather(1, dev.act[:, None]).squeeze(1)
loss = -(logp * dev.rew).mean()
loss.backward()
print(loss.item(), (host.rew * host.act).sum().item(), (logp.detach().cpu() * host.rew).sum().item())
