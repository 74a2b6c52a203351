from __future__ import annotations
from typing import Any
import torch
from torch import nn
from torch.nn import functional as F
import numpy as np


class PositionEmbeddingRandom(nn.Module):
    def __init__(self, num_pos_feats: int = 4, scale: float | None = None) -> None:
        super().__init__()
        if scale is None or scale <= 0.0:
            scale = 1.0
        self.register_buffer("gaussian", scale * torch.randn((2, num_pos_feats)))

    def _pe_encoding(self, coords):
        coords = 2 * coords - 1
        coords = coords @ self.gaussian
        coords = 2 * np.pi * coords
        return torch.cat([torch.sin(coords), torch.cos(coords)], dim=-1)

    def forward(self, size: tuple[int, int]):
        h, w = size
        device: Any = self.gaussian.device
        grid = torch.ones((h, w), device=device, dtype=torch.float32)
        y = (grid.cumsum(dim=0) - 0.5) / h
        x = (grid.cumsum(dim=1) - 0.5) / w
        return self._pe_encoding(torch.stack([x, y], dim=-1)).permute(2, 0, 1)

    def forward_with_coords(self, coords, size):
        coords = coords.clone()
        coords[..., 0] = coords[..., 0] / size[1]
        coords[..., 1] = coords[..., 1] / size[0]
        return self._pe_encoding(coords.to(torch.float))


class PromptEncoder(nn.Module):
    def __init__(self, dim=8, size=(8, 8)):
        super().__init__()
        self.size, self.dim = size, dim
        self.pe = PositionEmbeddingRandom(dim // 2)
        self.point_embeddings = nn.ModuleList([nn.Embedding(1, dim) for _ in range(2)])
        self.not_a_point = nn.Embedding(1, dim)

    def _get_device(self):
        return self.point_embeddings[0].weight.device

    def forward(self, points, pad=True):
        coords, labels = points
        coords = coords + 0.5
        if pad:
            padding_point = torch.zeros((coords.shape[0], 1, 2), device=coords.device)
            padding_label = -torch.ones((labels.shape[0], 1), device=labels.device)
            coords = torch.cat([coords, padding_point], dim=1)
            labels = torch.cat([labels, padding_label], dim=1)
        e = self.pe.forward_with_coords(coords, self.size)
        e[labels == -1] = 0.0
        e[labels == -1] += self.not_a_point.weight
        for i in range(2):
            e[labels == i] += self.point_embeddings[i].weight
        sparse = torch.empty((coords.shape[0], 0, self.dim), device=self._get_device())
        return torch.cat([sparse, e], dim=1)


class Sam(nn.Module):
    mask_threshold: float = 0.0

    def __init__(self, pixel_mean=(0.5, 0.5, 0.5)):
        super().__init__()
        self.image_encoder = nn.Conv2d(3, 8, 3, padding=1)
        self.prompt_encoder = PromptEncoder()
        self.mix = nn.MultiheadAttention(8, 2, batch_first=True)
        self.register_buffer("pixel_mean", torch.Tensor(pixel_mean).view(-1, 1, 1), False)

    @property
    def device(self) -> Any:
        return self.pixel_mean.device

    def forward(self, img, points):
        f = self.image_encoder(img - self.pixel_mean) + self.prompt_encoder.pe(self.prompt_encoder.size)[None]
        p = self.prompt_encoder(points)
        q, _ = self.mix(p, f.flatten(2).transpose(1, 2), f.flatten(2).transpose(1, 2))
        return torch.einsum("bqc,bchw->bqhw", q, f)[:, :1]


class Predictor:
    def __init__(self, model: Sam):
        self.model = model

    @torch.no_grad()
    def predict(self, image: np.ndarray, xy: np.ndarray, labels: np.ndarray) -> np.ndarray:
        img = torch.as_tensor(image, device=self.model.device).permute(2, 0, 1)[None].float() / 255
        pts = torch.as_tensor(xy, dtype=torch.float, device=self.model.device)[None]
        lab = torch.as_tensor(labels, dtype=torch.float, device=self.model.device)[None]
        masks = self.model(img, (pts, lab)) > self.model.mask_threshold
        return masks[0].cpu().numpy()


sam = Sam().to("cuda" if torch.cuda.is_available() else "cpu")
pred = Predictor(sam)
m = pred.predict(np.random.randint(0, 255, (8, 8, 3), dtype=np.uint8), np.array([[2., 3.], [5., 5.]]), np.array([1, 0]))
print(m.shape, F.interpolate(torch.from_numpy(m)[None].float(), scale_factor=2).sum().item())
