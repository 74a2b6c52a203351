"""An actor copies the learner's weights to the host and fills a queue; the learner trains."""
import queue
import threading

import torch
from torch import nn


class ActorCritic(nn.Module):
    def __init__(self, obs=3, acts=2):
        super().__init__()
        self.body = nn.Linear(obs, 12)
        self.pi = nn.Linear(12, acts)
        self.v = nn.Linear(12, 1)

    def forward(self, x):
        h = torch.tanh(self.body(x))
        return self.pi(h), self.v(h).squeeze(-1)


learner_device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
learner = ActorCritic().to(learner_device)
actor_model = ActorCritic()
actor_model.load_state_dict({k: v.cpu() for k, v in learner.state_dict().items()})
actor_model.requires_grad_(False)
rollouts = queue.Queue(maxsize=4)


def act(steps, count, seed):
    g = torch.Generator().manual_seed(seed)
    for _ in range(count):
        obs = torch.randn(steps, 3, generator=g)
        logits, values = actor_model(obs)
        actions = torch.multinomial(logits.softmax(-1), 1, generator=g).squeeze(1)
        rewards = (obs[:, 0] > 0).eq(actions.bool()).float()
        rollouts.put({"obs": obs, "logits": logits, "actions": actions, "rewards": rewards})


def vtrace(behaviour, target, rewards, values, gamma=0.9):
    rho = (target - behaviour).exp().clamp(max=1.0)
    out = torch.empty_like(values)
    acc = torch.zeros_like(values[0])
    following = torch.cat([values[1:], values.new_zeros(1)])
    for t in reversed(range(len(values))):
        delta = rho[t] * (rewards[t] + gamma * following[t] - values[t])
        acc = delta + gamma * rho[t] * acc
        out[t] = values[t] + acc
    return out, rho


thread = threading.Thread(target=act, args=(6, 3, 0))
thread.start()
opt = torch.optim.Adam(learner.parameters(), lr=1e-2)
for _ in range(3):
    data = rollouts.get(timeout=20)
    batch = {k: v.to(learner_device) for k, v in data.items()}
    logits, values = learner(batch["obs"])
    pick = lambda l: l.log_softmax(-1).gather(1, batch["actions"][:, None]).squeeze(1)
    target, rho = vtrace(pick(batch["logits"]), pick(logits.detach()), batch["rewards"], values.detach())
    loss = (values - target).pow(2).mean() - (rho * (target - values.detach()) * pick(logits)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for mine, theirs in zip(actor_model.parameters(), learner.parameters()):
            mine.copy_(theirs)
thread.join()
print(loss.item(), actor_model(data["obs"])[1] - data["rewards"])
