"""A denoising step that forgets one small tensor."""

import torch
from torch import nn


class Denoiser(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Linear(channels, channels)
        self.guidance = nn.Linear(1, channels)

    def forward(self, latents: torch.Tensor, guidance: torch.Tensor) -> torch.Tensor:
        return self.body(latents) + self.guidance(guidance)


def sample(model: Denoiser, device: torch.device, scale: float = 3.5) -> torch.Tensor:
    latents = torch.randn(2, 8, device=device)
    guidance = torch.full([1], scale)
    for _ in range(2):
        latents = latents - 0.1 * model(latents, guidance.expand(2, 1))
    return latents


def main() -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Denoiser(8).to(device)
    print(sample(model, device).shape)


if __name__ == "__main__":
    main()
