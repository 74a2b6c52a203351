"""Reproducible image generation: the same seed must give the same picture."""
import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self, z=8):
        super().__init__()
        self.z = z
        self.fc = nn.Linear(z, 4 * 4 * 4)
        self.up = nn.Sequential(nn.ConvTranspose2d(4, 2, 4, 2, 1), nn.ReLU(), nn.Conv2d(2, 3, 3, padding=1))

    def forward(self, z):
        return self.up(self.fc(z).view(-1, 4, 4, 4)).tanh()


class ImagePipeline:
    def __init__(self, decoder, device=None):
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.decoder = decoder.to(self.device).eval()

    def prepare_latents(self, n, generator):
        return torch.randn(n, self.decoder.z, generator=generator, device=self.device)

    @torch.no_grad()
    def __call__(self, n=1, generator=None, truncation=None):
        latents = self.prepare_latents(n, generator)
        if truncation:
            latents = latents.clamp(-truncation, truncation)
        images = self.decoder(latents)
        return ((images + 1) * 127.5).to(torch.uint8).permute(0, 2, 3, 1).cpu().numpy()


def main():
    torch.manual_seed(0)
    pipe = ImagePipeline(Decoder())
    pictures = []
    for seed in (1, 2, 1):
        generator = torch.Generator(device=pipe.device).manual_seed(seed)
        pictures.append(pipe(n=1, generator=generator, truncation=2.0)[0])
    print("same seed, same picture:", (pictures[0] == pictures[2]).all())
    print("other seed, other picture:", (pictures[0] != pictures[1]).any())
    print(pictures[0].shape, pictures[0].dtype)


if __name__ == "__main__":
    main()
