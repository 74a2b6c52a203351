"""Gradient accumulation with a warm-up schedule and a running metric, without any class but the model."""
import math

import torch
from torch import nn


def data_stream(n_batches, batch_size, features):
    gen = torch.Generator().manual_seed(42)
    w = torch.randn(features, 1, generator=gen)
    for _ in range(n_batches):
        x = torch.randn(batch_size, features, generator=gen)
        yield {"x": x, "y": x @ w}


def lr_at(step, warmup, total):
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


class Regressor(nn.Module):
    def __init__(self, features, hidden=24):
        super().__init__()
        self.fc1 = nn.Linear(features, hidden)
        self.fc2 = nn.Linear(hidden, 1)
        self.gain = nn.Parameter(torch.ones(hidden))

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)) * self.gain)


torch.manual_seed(0)
accum_steps, features = 4, 10
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print("using an accelerator or not, the numbers are the same")

model = Regressor(features)
if device.type == "cuda":
    model = model.cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: lr_at(s, 2, 8))
running_loss = torch.zeros((), device=device)

optimizer.zero_grad()
for i, batch in enumerate(data_stream(32, 8, features)):
    batch = {name: tensor.to(device) for name, tensor in batch.items()}
    residual = model(batch["x"]) - batch["y"]
    loss = residual.pow(2).mean() / accum_steps
    loss.backward()
    running_loss += loss.detach() * accum_steps
    if (i + 1) % accum_steps == 0:
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=5.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()

print("mean loss is finite:", math.isfinite(running_loss.item() / 32))
grads = torch.cat([p.detach().flatten() for p in model.parameters()])
reference = torch.zeros(grads.numel(), device=device)
print("moved:", bool((grads - reference).norm() > 0))
