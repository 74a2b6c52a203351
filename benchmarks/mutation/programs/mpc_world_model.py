"""A learned dynamics model and random-shooting control, written with helper functions and a config dictionary."""
import torch
import torch.nn as nn

config = {
    "hidden": 24,
    "horizon": 4,
    "candidates": 16,
    "device": "cuda" if torch.cuda.is_available() else "cpu",
}


def mlp(sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.SiLU()]
    return nn.Sequential(*layers[:-1])


class WorldModel(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden):
        super().__init__()
        self.delta = mlp([obs_dim + act_dim, hidden, obs_dim])
        self.reward = mlp([obs_dim, hidden, 1])
        self.register_buffer("obs_mean", torch.zeros(obs_dim))
        self.register_buffer("obs_std", torch.ones(obs_dim))

    def set_statistics(self, obs):
        self.obs_mean.copy_(obs.mean(0))
        self.obs_std.copy_(obs.std(0) + 1e-3)

    def forward(self, obs, act):
        normed = (obs - self.obs_mean) / self.obs_std
        nxt = obs + self.delta(torch.cat([normed, act], dim=-1))
        return nxt, self.reward(nxt).squeeze(-1)


def true_step(obs, act):
    nxt = obs + 0.1 * torch.cat([obs[..., 1:], act], dim=-1)
    return nxt, -nxt[..., 0].abs()


def collect(n):
    obs, act = torch.randn(n, 2), torch.rand(n, 1) * 2 - 1
    nxt, reward = true_step(obs, act)
    return {"obs": obs, "act": act, "nxt": nxt, "reward": reward}


def fit(model, buffer, epochs, device):
    buffer = {k: v.to(device) for k, v in buffer.items()}
    model.set_statistics(buffer["obs"])
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(epochs):
        idx = torch.randint(0, len(buffer["obs"]), (32,), device=device)
        nxt, reward = model(buffer["obs"][idx], buffer["act"][idx])
        loss = nn.functional.mse_loss(nxt, buffer["nxt"][idx]) + nn.functional.mse_loss(reward, buffer["reward"][idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


@torch.no_grad()
def plan(model, obs, cfg):
    n, device = cfg["candidates"], cfg["device"]
    plans = torch.rand(n, cfg["horizon"], 1, device=device) * 2 - 1
    state = obs.to(device).expand(n, -1)
    total = torch.zeros(n, device=device)
    discount = torch.tensor([0.9**i for i in range(cfg["horizon"])]).to(device)
    for t in range(cfg["horizon"]):
        state, reward = model(state, plans[:, t])
        total += discount[t] * reward
    return plans[total.argmax(), 0].cpu()


if __name__ == "__main__":
    torch.manual_seed(60)
    world = WorldModel(2, 1, config["hidden"]).to(config["device"])
    print("fitted:", fit(world, collect(128), 20, config["device"]) < 10)
    obs = torch.tensor([1.0, 0.0])
    for _ in range(4):
        action = plan(world, obs, config)
        obs, _ = true_step(obs, action)
    print("state", tuple(obs.numpy().shape), bool(obs.abs().max() < 5))
