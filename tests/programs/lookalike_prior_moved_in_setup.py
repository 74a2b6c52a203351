import torch
from torch import nn
from torch.distributions import MultivariateNormal, Categorical, MixtureSameFamily, Independent, Normal


class Flow(nn.Module):
    """affine flow; the base distribution is rebuilt on access, so that it follows"""

    def __init__(self, d=2):
        super().__init__()
        self.register_buffer("loc", torch.zeros(d))
        self.register_buffer("cov", torch.eye(d))
        self.s, self.t = nn.Parameter(torch.zeros(d)), nn.Parameter(torch.zeros(d))

    @property
    def base(self):
        return MultivariateNormal(self.loc, self.cov)

    def log_prob(self, x):
        z = (x - self.t) * torch.exp(-self.s)
        return self.base.log_prob(z) - self.s.sum()

    def sample(self, n):
        return self.base.sample((n,)) * self.s.exp() + self.t


target = MixtureSameFamily(Categorical(torch.ones(2)), Independent(Normal(torch.tensor([[1., 1.], [2., 0.]]), torch.ones(2, 2)), 1))
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
flow = Flow().to(device)
opt = torch.optim.Adam(flow.parameters(), 0.1)
for _ in range(3):
    x = target.sample((32,)).to(device)
    loss = -flow.log_prob(x).mean()
    opt.zero_grad(); loss.backward(); opt.step()
with torch.no_grad():
    s = flow.sample(16).cpu()
print(loss.item(), target.log_prob(s).mean().item())
