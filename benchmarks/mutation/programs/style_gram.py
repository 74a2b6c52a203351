"""Optimise the pixels of an image so that its Gram matrices match a style (after Gatys et al.)."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(18)


class Normalization(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = mean.clone().detach().view(-1, 1, 1)
        self.std = std.clone().detach().view(-1, 1, 1)

    def forward(self, img):
        return (img - self.mean) / self.std


def gram_matrix(x):
    b, c, h, w = x.size()
    features = x.view(b * c, h * w)
    return features @ features.t() / (b * c * h * w)


class StyleLoss(nn.Module):
    def __init__(self, target_feature):
        super().__init__()
        self.target = gram_matrix(target_feature).detach()
        self.loss = 0

    def forward(self, x):
        self.loss = F.mse_loss(gram_matrix(x), self.target)
        return x


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.register_buffer("target", target.detach())
        self.loss = 0

    def forward(self, x):
        self.loss = F.mse_loss(x, self.target)
        return x


def get_model_and_losses(cnn, mean, std, style_img, content_img):
    model = nn.Sequential(Normalization(mean, std))
    style_losses, content_losses = [], []
    for i, layer in enumerate(copy.deepcopy(cnn).children()):
        model.add_module(f"layer_{i}", layer)
        if isinstance(layer, nn.Conv2d):
            target = model(style_img).detach()
            style_losses.append(StyleLoss(target))
            model.add_module(f"style_{i}", style_losses[-1])
            content_losses.append(ContentLoss(model(content_img).detach()))
            model.add_module(f"content_{i}", content_losses[-1])
    return model, style_losses, content_losses


cnn = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 8, 3, padding=1)).to(device).eval()
mean = torch.tensor([0.485, 0.456, 0.406]).to(device)
std = torch.tensor([0.229, 0.224, 0.225]).to(device)
style_img = torch.rand(1, 3, 12, 12).to(device)
content_img = torch.rand(1, 3, 12, 12, device=device)
input_img = content_img.clone()

model, style_losses, content_losses = get_model_and_losses(cnn, mean, std, style_img, content_img)
input_img.requires_grad_(True)
model.requires_grad_(False)
optimizer = torch.optim.Adam([input_img], lr=0.05)
track = torch.empty(6, device=device)
for run in range(6):
    with torch.no_grad():
        input_img.clamp_(0, 1)
    optimizer.zero_grad()
    model(input_img)
    score = sum(100 * s.loss for s in style_losses) + sum(c.loss for c in content_losses)
    score.backward()
    optimizer.step()
    track[run] = score.detach()
print("went down:", bool(track[-1] < track[0]))
print(input_img.detach().squeeze(0).permute(1, 2, 0).cpu().numpy().shape)
