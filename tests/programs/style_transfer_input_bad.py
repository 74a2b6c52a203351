"""Neural style transfer with hooks, total variation, L-BFGS, histogram matching."""
from collections import OrderedDict
from contextlib import ExitStack, contextmanager

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim


def gram(x):
    b, c, h, w = x.shape
    f = x.view(b, c, h * w)
    return f @ f.transpose(1, 2) / (c * h * w)


class Normalization(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = mean.clone().detach().view(-1, 1, 1)
        self.std = std.clone().detach().view(-1, 1, 1)

    def forward(self, img):
        return (img - self.mean) / self.std  # FAIL


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target.detach()

    def forward(self, x):
        self.loss = F.mse_loss(x, self.target)
        return x


class StyleLoss(nn.Module):
    def __init__(self, feature):
        super().__init__()
        self.target = gram(feature).detach()

    def forward(self, x):
        self.loss = F.mse_loss(gram(x), self.target)
        return x


def vgg():
    return nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), nn.ReLU(inplace=True), nn.Conv2d(8, 8, 3, 1, 1), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, 1, 1), nn.ReLU(inplace=True))


def get_style_model_and_losses(cnn, mean, std, style_img, content_img, content_layers=("conv_2",), style_layers=("conv_1", "conv_2")):
    normalization = Normalization(mean, std)
    content_losses, style_losses = [], []
    model = nn.Sequential(normalization)
    i = 0
    for layer in cnn.children():
        if isinstance(layer, nn.Conv2d):
            i += 1
            name = "conv_{}".format(i)
        elif isinstance(layer, nn.ReLU):
            name = "relu_{}".format(i)
            layer = nn.ReLU(inplace=False)
        else:
            name = "pool_{}".format(i)
        model.add_module(name, layer)
        if name in content_layers:
            content_loss = ContentLoss(model(content_img).detach())
            model.add_module("content_loss_{}".format(i), content_loss)
            content_losses.append(content_loss)
        if name in style_layers:
            style_loss = StyleLoss(model(style_img).detach())
            model.add_module("style_loss_{}".format(i), style_loss)
            style_losses.append(style_loss)
    return model, style_losses, content_losses


def run_style_transfer(cnn, mean, std, content_img, style_img, input_img, steps=2):
    model, style_losses, content_losses = get_style_model_and_losses(cnn, mean, std, style_img, content_img)
    input_img.requires_grad_(True)
    model.eval()
    model.requires_grad_(False)
    optimizer = optim.LBFGS([input_img], max_iter=2)
    run = [0]
    while run[0] <= steps:
        def closure():
            with torch.no_grad():
                input_img.clamp_(0, 1)
            optimizer.zero_grad()
            model(input_img)
            style = sum(sl.loss for sl in style_losses)
            content = sum(cl.loss for cl in content_losses)
            loss = style * 1e4 + content
            loss.backward()
            run[0] += 1
            return loss
        optimizer.step(closure)
    with torch.no_grad():
        input_img.clamp_(0, 1)
    return input_img


@contextmanager
def capture(model, names):
    acts = OrderedDict()
    with ExitStack() as stack:
        for n, m in model.named_children():
            if n in names:
                h = m.register_forward_hook(lambda mod, i, o, n=n: acts.__setitem__(n, o.detach()))
                stack.callback(h.remove)
        yield acts


def tv(x):
    return (x[..., 1:] - x[..., :-1]).abs().mean() + (x[..., 1:, :] - x[..., :-1, :]).abs().mean()


def load(seed, size, device):
    g = torch.Generator().manual_seed(seed)
    image = torch.rand(1, 3, size, size, generator=g)
    return image.to(device, torch.float)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_default_dtype(torch.float32)
    content, style = load(1, 8, device), load(2, 8, device)
    cnn = vgg().eval().to(device)
    mean = torch.tensor([0.485, 0.456, 0.406]).to(device)
    std = torch.tensor([0.229, 0.224, 0.225]).to(device)
    image = torch.randn(content.size())  # CAUSE
    out = run_style_transfer(cnn, mean, std, content, style, image)
    with capture(cnn, {"0", "2"}) as acts, torch.no_grad():
        cnn(out)
    stats = torch.stack([a.mean() for a in acts.values()])
    picture = out.detach().cpu().squeeze(0).permute(1, 2, 0).numpy()
    print(picture.shape, stats.shape, tv(out).item() >= 0)


if __name__ == "__main__":
    main()
