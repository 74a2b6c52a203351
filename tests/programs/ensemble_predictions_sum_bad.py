from typing import List

import torch
from torch import nn


def make_model(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 3))


class Ensemble:
    def __init__(self, members: List[nn.Module], device: str):
        self.members = [m.to(device).eval() for m in members]
        self.device = device

    @torch.no_grad()
    def predict(self, x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(x.size(0), 3)
        for m in self.members:
            total += m(x.to(self.device)).softmax(-1)  # FAIL
        return total / len(self.members)


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ens = Ensemble([make_model(s) for s in range(3)], device)
    print(ens.predict(torch.randn(5, 4)).argmax(1).shape)  # CALL


if __name__ == "__main__":
    main()  # CALL
