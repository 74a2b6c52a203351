import torch
from torch import nn

dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(3, 1).to(dev)
running = torch.zeros(2)
history = []
for step in range(2):
    loss = net(torch.randn(4, 3, device=dev)).pow(2).mean()
    loss.backward()
    running[step] = loss.detach()
    history.append(loss.detach())
grads = [p.grad.norm() for p in net.parameters()]
total = torch.norm(torch.stack(grads))
print(running.mean().item() >= 0, torch.stack(history).cpu().numpy().shape, float(total) >= 0)
