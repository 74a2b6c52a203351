import types

import torch


class Core(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x * self.w


def friendly(module):
    plain = module.forward

    def forward(self, x):
        return plain(x.to(self.w.device)).to(x.device)

    module.forward = types.MethodType(forward, module)
    return module


core = friendly(Core())
if torch.cuda.is_available():
    core = core.cuda()
x = torch.arange(3.0)
print((core(x) + x).tolist())
