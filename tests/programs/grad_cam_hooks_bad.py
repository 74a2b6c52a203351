import numpy as np
import torch
import torch.nn as nn


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        h = torch.relu(self.conv(x))
        return self.fc(self.pool(h).flatten(1))


class GradCAM:
    def __init__(self, model, layer):
        self.model = model
        self.acts, self.grads = None, None
        layer.register_forward_hook(self._save_act)
        layer.register_full_backward_hook(self._save_grad)

    def _save_act(self, module, inp, out):
        self.acts = out.detach()

    def _save_grad(self, module, gin, gout):
        self.grads = gout[0].detach()

    def __call__(self, x, cls=None):
        logits = self.model(x)
        if cls is None:
            cls = logits.argmax(1).item()
        logits[0, cls].backward()
        w = self.grads.mean(dim=(2, 3), keepdim=True)
        cam = torch.relu((w * self.acts).sum(1)).squeeze(0)
        cam = cam / (cam.max() + 1e-8)
        return cam.numpy()  # FAIL


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = CNN().to(device).eval()
cam = GradCAM(model, model.conv)
heat = cam(torch.rand(1, 3, 8, 8).to(device))  # CALL
print(np.asarray(heat).shape)
