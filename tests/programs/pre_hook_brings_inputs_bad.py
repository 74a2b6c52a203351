import torch
import torch.nn as nn


def bring_inputs(module, args):
    home = next(module.parameters()).device
    return tuple(a.to(home) if torch.is_tensor(a) else a for a in args)


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = nn.Bilinear(3, 4, 2)

    def forward(self, a, b):
        return self.left(a, b).relu()  # FAIL


scorer = Scorer()
if torch.cuda.is_available():
    scorer.cuda()

a = torch.rand(6, 3)  # CAUSE
b = torch.rand(6, 4)  # CAUSE
out = scorer(a, b)  # CALL
print(tuple(out.shape))
