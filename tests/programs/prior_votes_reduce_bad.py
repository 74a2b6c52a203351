import functools
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
experts = nn.ModuleList([nn.Linear(4, 3) for _ in range(3)]).to(device)
log_prior = torch.log(torch.tensor([0.5, 0.3, 0.2]))  # CAUSE


def product_of_experts(x):
    logs = [e(x).log_softmax(-1) for e in experts]
    joint = functools.reduce(torch.add, logs, log_prior)  # FAIL
    return (joint - joint.logsumexp(-1, keepdim=True)).exp()


opt = torch.optim.Adam(experts.parameters(), lr=1e-2)
for step in range(2):
    x, y = torch.randn(6, 4, device=device), torch.randint(0, 3, (6,), device=device)
    p = product_of_experts(x)  # CALL
    loss = -p.gather(1, y[:, None]).log().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
