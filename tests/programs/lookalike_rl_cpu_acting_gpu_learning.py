import copy

import torch
from torch import nn

learner_dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
learner = nn.Linear(4, 2).to(learner_dev)
actor = copy.deepcopy(learner).cpu()
opt = torch.optim.Adam(learner.parameters())
storage = []
for _ in range(3):
    obs = torch.randn(4)
    with torch.no_grad():
        a = actor(obs).argmax()
    storage.append((obs, a))
obs = torch.stack([o for o, _ in storage]).to(learner_dev)
act = torch.stack([a for _, a in storage]).to(learner_dev)
loss = nn.functional.cross_entropy(learner(obs), act)
loss.backward()
opt.step()
actor.load_state_dict(learner.state_dict())
print(actor(torch.randn(4)).shape)
