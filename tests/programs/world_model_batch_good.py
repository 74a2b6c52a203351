import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

class RSSM(nn.Module):
    def __init__(self, s=4, h=8, a=2, e=6):
        super().__init__()
        self.s_dim, self.h_dim = s, h
        self.cell = nn.GRUCell(s + a, h)
        self.prior_net = nn.Linear(h, 2 * s)
        self.post_net = nn.Linear(h + e, 2 * s)

    def init_state(self, b):
        dev = next(self.parameters()).device
        return torch.zeros(b, self.s_dim, device=dev), torch.zeros(b, self.h_dim, device=dev)

    @staticmethod
    def dist(x):
        mu, std = x.chunk(2, -1)
        return Normal(mu, nn.functional.softplus(std) + 0.1)

    def step(self, s, h, a, e=None):
        h = self.cell(torch.cat([s, a], -1), h)
        prior = self.dist(self.prior_net(h))
        post = self.dist(self.post_net(torch.cat([h, e], -1))) if e is not None else None
        return prior, post, h

    def observe(self, actions, embeds):
        T, b = actions.shape[:2]
        s, h = self.init_state(b)
        priors, posts, feats = [], [], []
        for t in range(T):
            prior, post, h = self.step(s, h, actions[t], embeds[t])
            s = post.rsample()
            priors.append(prior); posts.append(post); feats.append(torch.cat([s, h], -1))
        return priors, posts, torch.stack(feats)

    def imagine(self, policy, s, h, horizon):
        out = []
        for _ in range(horizon):
            a = torch.tanh(policy(torch.cat([s, h], -1)))
            prior, _, h = self.step(s, h, a)
            s = prior.rsample()
            out.append(torch.cat([s, h], -1))
        return torch.stack(out)


def lambda_return(r, v, gamma=0.99, lam=0.95):
    last = v[-1]
    outs = []
    for t in range(len(r) - 1, -1, -1):
        last = r[t] + gamma * ((1 - lam) * v[t] + lam * last)
        outs.append(last)
    return torch.stack(outs[::-1])


class Dreamer:
    def __init__(self, cfg):
        self.device = cfg["device"]
        self.rssm = RSSM()
        self.enc = nn.Sequential(nn.Linear(5, 6), nn.ELU())
        self.dec = nn.Linear(12, 5)
        self.rew = nn.Linear(12, 1)
        self.actor = nn.Linear(12, 2)
        self.value = nn.Linear(12, 1)
        for m in (self.rssm, self.enc, self.dec, self.rew, self.actor, self.value):
            m.to(self.device)
        wm = [*self.rssm.parameters(), *self.enc.parameters(), *self.dec.parameters(), *self.rew.parameters()]
        self.wm_opt = torch.optim.Adam(wm, 1e-3)
        self.ac_opt = torch.optim.Adam([*self.actor.parameters(), *self.value.parameters()], 1e-3)
        self.free_nats = torch.full((1,), 1.0, device=self.device)

    def train_step(self, obs, act, rew):
        obs, act, rew = (torch.as_tensor(x).to(self.device) for x in (obs, act, rew))
        priors, posts, feats = self.rssm.observe(act, self.enc(obs))
        kl = torch.stack([kl_divergence(q, p).sum(-1) for p, q in zip(priors, posts)]).mean()
        loss = torch.max(kl, self.free_nats).sum() + (self.dec(feats) - obs).pow(2).mean() + (self.rew(feats).squeeze(-1) - rew).pow(2).mean()
        self.wm_opt.zero_grad(); loss.backward(); self.wm_opt.step()
        start = feats.detach().reshape(-1, 12)
        imag = self.rssm.imagine(self.actor, start[:, :4], start[:, 4:], 3)
        ret = lambda_return(self.rew(imag), self.value(imag))
        a_loss = -ret.mean() + (self.value(imag.detach()) - ret.detach()).pow(2).mean()
        self.ac_opt.zero_grad(); a_loss.backward(); self.ac_opt.step()
        return loss.item(), a_loss.item()


agent = Dreamer({"device": "cuda" if torch.cuda.is_available() else "cpu"})
for i in range(2):
    print(agent.train_step(torch.randn(4, 3, 5), torch.randn(4, 3, 2), torch.randn(4, 3)))
