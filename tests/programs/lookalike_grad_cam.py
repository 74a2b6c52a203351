"""Hooks that collect activations and gradients; the map is brought back before numpy sees it."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class GradCAM:
    def __init__(self, model, layer):
        self.model = model
        self.acts = self.grads = None
        layer.register_forward_hook(self._save_acts)
        layer.register_full_backward_hook(self._save_grads)

    def _save_acts(self, module, inputs, output):
        self.acts = output.detach()

    def _save_grads(self, module, grad_in, grad_out):
        self.grads = grad_out[0].detach()

    def __call__(self, image, target=None):
        device = next(self.model.parameters()).device
        logits = self.model(image.unsqueeze(0).to(device))
        if target is None:
            target = logits.argmax(1).item()
        self.model.zero_grad()
        logits[0, target].backward()
        weights = self.grads.mean(dim=(2, 3), keepdim=True)
        cam = F.relu((weights * self.acts).sum(1, keepdim=True))
        cam = F.interpolate(cam, size=image.shape[-2:], mode="bilinear", align_corners=False)
        cam = cam / (cam.max() + 1e-8)
        return cam[0, 0].cpu().numpy(), target


torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 5))
if torch.cuda.is_available():
    net = net.cuda()
cam = GradCAM(net, net[0])
picture = torch.rand(3, 9, 9)
heat, label = cam(picture)
overlay = 0.6 * picture.permute(1, 2, 0).numpy() + 0.4 * heat[..., None]
print(label, overlay.shape, np.clip(overlay, 0, 1).mean().round(3))
