import torch
from torch import nn
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence, Independent


class RSSM(nn.Module):
    def __init__(self, obs=6, act=2, deter=12, stoch=4):
        super().__init__()
        self.deter, self.stoch = deter, stoch
        self.pre = nn.Linear(stoch + act, deter)
        self.cell = nn.GRUCell(deter, deter)
        self.prior = nn.Linear(deter, 2 * stoch)
        self.post = nn.Linear(deter + obs, 2 * stoch)
        self.decode = nn.Linear(deter + stoch, obs)

    def initial(self, batch):
        dev = self.pre.weight.device
        return torch.zeros(batch, self.deter, device=dev), torch.zeros(batch, self.stoch, device=dev)

    def dist(self, stats):
        mean, std = stats.chunk(2, -1)
        return Independent(Normal(mean, F.softplus(std) + 0.1), 1)

    def img_step(self, h, z, a):
        h = self.cell(F.elu(self.pre(torch.cat([z, a], -1))), h)
        return h, self.dist(self.prior(h))

    def observe(self, obs, act):
        h, z = self.initial(obs.size(0))
        posts, priors, feats = [], [], []
        for t in range(obs.size(1)):
            h, prior = self.img_step(h, z, act[:, t])
            post = self.dist(self.post(torch.cat([h, obs[:, t]], -1)))
            z = post.rsample()
            posts.append(post)
            priors.append(prior)
            feats.append(torch.cat([h, z], -1))
        return posts, priors, torch.stack(feats, 1)


class Buffer:
    def __init__(self, n, T):
        self.obs, self.act, self.rew = torch.randn(n, T, 6), torch.randn(n, T, 2), torch.randn(n, T)

    def sample(self, k, device):
        idx = torch.randint(0, len(self.obs), (k,))
        return self.obs[idx].to(device), self.act[idx].to(device), self.rew[idx].to(device)


def lambda_return(reward, value, last, disc=0.99, lam=0.95):
    out = []
    acc = last
    for t in reversed(range(reward.size(1))):
        acc = reward[:, t] + disc * ((1 - lam) * value[:, t] + lam * acc)
        out.append(acc)
    return torch.stack(out[::-1], 1)


device = torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")
model, reward_head, value_head = RSSM().to(device), nn.Linear(16, 1).to(device), nn.Linear(16, 1).to(device)
params = [p for m in (model, reward_head, value_head) for p in m.parameters()]
opt = torch.optim.Adam(params, 1e-3)
buf = Buffer(20, 5)
for it in range(2):
    obs, act, rew = buf.sample(6, device)
    posts, priors, feats = model.observe(obs, act)
    kl = torch.stack([kl_divergence(p, q) for p, q in zip(posts, priors)], 1).clamp(min=1.0).mean()
    recon = F.mse_loss(model.decode(feats), obs)
    rew_loss = F.mse_loss(reward_head(feats).squeeze(-1), rew)
    value = value_head(feats).squeeze(-1)
    target = lambda_return(rew, value.detach(), value[:, -1].detach())
    loss = kl + recon + rew_loss + F.mse_loss(value, target)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(params, 100.0)
    opt.step()
    print(it, loss.item())
