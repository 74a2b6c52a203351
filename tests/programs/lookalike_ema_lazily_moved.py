import copy

import torch
from torch import nn


class EMA:
    def __init__(self, model, decay, device=None):
        self.model = copy.deepcopy(model)
        self.decay = decay
        self.device = device
        if device is not None:
            self.model.to(device=device)

    @torch.no_grad()
    def update(self, src):
        for e, m in zip(self.model.state_dict().values(), src.state_dict().values()):
            if self.device is not None:
                m = m.to(device=self.device)
            e.copy_(self.decay * e + (1 - self.decay) * m)


dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(2, 2)
ema = EMA(net, 0.9, device="cpu")
net.to(dev)
ema.update(net)
ema2 = EMA(net, 0.9)
ema2.update(net)
print(ema2.model(torch.randn(1, 2, device=dev)).shape, ema.model(torch.randn(1, 2)).shape)
