"""Optimises a picture so that its features match those of another one."""
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
imsize = 16

torch.manual_seed(0)
style_img = torch.rand(1, 3, imsize, imsize).to(device, torch.float)
content_img = torch.rand(1, 3, imsize, imsize).to(device, torch.float)


class ContentLoss(nn.Module):
    def __init__(self, target):
        super(ContentLoss, self).__init__()
        self.target = target.detach()

    def forward(self, input):
        self.loss = F.mse_loss(input, self.target)
        return input


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


class StyleLoss(nn.Module):
    def __init__(self, target_feature):
        super(StyleLoss, self).__init__()
        self.target = gram_matrix(target_feature).detach()

    def forward(self, input):
        self.loss = F.mse_loss(gram_matrix(input), self.target)
        return input


class Normalization(nn.Module):
    def __init__(self, mean, std):
        super(Normalization, self).__init__()
        self.mean = torch.tensor(mean).view(-1, 1, 1)  # CAUSE
        self.std = torch.tensor(std).view(-1, 1, 1)  # CAUSE

    def forward(self, img):
        return (img - self.mean) / self.std  # FAIL


def get_style_model_and_losses(cnn, style_img, content_img):
    normalization = Normalization([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    content_losses, style_losses = [], []
    model = nn.Sequential(normalization)
    for i, layer in enumerate(cnn.children()):
        if isinstance(layer, nn.ReLU):
            layer = nn.ReLU(inplace=False)
        model.add_module(f"layer_{i}", layer)
        if isinstance(layer, nn.Conv2d):
            target = model(content_img).detach()
            content_loss = ContentLoss(target)
            model.add_module(f"content_loss_{i}", content_loss)
            content_losses.append(content_loss)
            style_loss = StyleLoss(model(style_img).detach())
            model.add_module(f"style_loss_{i}", style_loss)
            style_losses.append(style_loss)
    return model, style_losses, content_losses


cnn = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(4, 4, 3, padding=1)).to(device).eval()
model, style_losses, content_losses = get_style_model_and_losses(cnn, style_img, content_img)
input_img = content_img.clone().requires_grad_(True)
model.requires_grad_(False)
optimizer = optim.Adam([input_img], lr=0.02)
for run in range(4):
    with torch.no_grad():
        input_img.clamp_(0, 1)
    optimizer.zero_grad()
    model(input_img)
    loss = 1e4 * sum(sl.loss for sl in style_losses) + sum(cl.loss for cl in content_losses)
    loss.backward()
    optimizer.step()
    print("run {}: {:4f}".format(run, loss.item()))
