import abc
import torch
from torch import nn


class Task(abc.ABC):
    def __init__(self):
        self.device = torch.device("cpu")
        self._modules_to_move = []

    @abc.abstractmethod
    def configure(self): ...

    @abc.abstractmethod
    def training_step(self, batch): ...

    def transfer(self, batch):
        return tuple(b.to(self.device) for b in batch)

    def __setattr__(self, k, v):
        if isinstance(v, nn.Module):
            self._modules_to_move.append(v)
        object.__setattr__(self, k, v)

    def parameters(self):
        for m in self._modules_to_move:
            yield from m.parameters()


class Runner:
    def __init__(self, accelerator="auto", max_steps=3):
        use = accelerator == "gpu" or (accelerator == "auto" and torch.cuda.is_available())
        self.root = torch.device("cuda", 0) if use else torch.device("cpu")
        self.max_steps = max_steps

    def run(self, task, data):
        task.configure()
        for m in task._modules_to_move:
            m.to(self.root)
        task.device = self.root
        opt = torch.optim.Adam(task.parameters(), 1e-2)
        logs = []
        for step, batch in zip(range(self.max_steps), data):
            loss = task.training_step(task.transfer(batch))
            opt.zero_grad()
            loss.backward()
            opt.step()
            logs.append(loss.detach())
        return torch.stack(logs).cpu()


class AutoEncoder(Task):
    def configure(self):
        self.enc = nn.Linear(6, 3)
        self.dec = nn.Linear(3, 6)

    def training_step(self, batch):
        x, w = batch
        return (w * (self.dec(self.enc(x).relu()) - x).pow(2).mean(1)).mean()


class Denoiser(AutoEncoder):
    def training_step(self, batch):
        x, w = batch
        mask = torch.rand(x.shape, device=self.device) > 0.3
        return super().training_step((x * mask, w))


data = [(torch.randn(4, 6), torch.rand(4)) for _ in range(5)]
for cls in (AutoEncoder, Denoiser):
    print(cls.__name__, Runner().run(cls(), data).tolist())
