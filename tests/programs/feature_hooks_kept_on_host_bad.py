import argparse
import functools
from collections import defaultdict

import torch
from torch import nn
import torch.nn.functional as F


class FeatureTap:
    """Records outputs of the named layers while it is open."""

    def __init__(self, model, names):
        self.model = model
        self.names = names
        self.features = defaultdict(list)
        self.handles = []

    def _record(self, name, module, inputs, output):
        self.features[name].append(output)

    def __enter__(self):
        modules = dict(self.model.named_modules())
        for name in self.names:
            hook = functools.partial(self._record, name)
            self.handles.append(modules[name].register_forward_hook(hook))
        return self

    def __exit__(self, *exc):
        for h in self.handles:
            h.remove()
        self.handles.clear()

    def last(self, name):
        return self.features[name][-1]


def gram(f):
    b, c, h, w = f.shape
    f = f.reshape(b, c, h * w)
    return f @ f.transpose(1, 2) / (c * h * w)


class StyleReference:
    def __init__(self, network, layers, device):
        self.network = network
        self.layers = layers
        self.device = device
        self.grams = {}

    def learn(self, images):
        with torch.no_grad(), FeatureTap(self.network, self.layers) as tap:
            for image in images:
                self.network(image.unsqueeze(0).to(self.device))
        for name in self.layers:
            stacked = torch.cat([f.cpu() for f in tap.features[name]])  # CAUSE
            self.grams[name] = gram(stacked).mean(0, keepdim=True)  # CAUSE
        return self

    def loss(self, tap):
        total = 0.0
        for name, target in self.grams.items():
            total = total + F.mse_loss(gram(tap.last(name)), target)  # FAIL
        return total


def feature_network():
    net = nn.Sequential()
    channels = [3, 8, 12, 16]
    for i, (a, b) in enumerate(zip(channels, channels[1:]), 1):
        net.add_module(f"conv{i}", nn.Conv2d(a, b, 3, padding=1))
        net.add_module(f"relu{i}", nn.ReLU())
        net.add_module(f"pool{i}", nn.AvgPool2d(2))
    for p in net.parameters():
        p.requires_grad_(False)
    return net.eval()


def total_variation(x):
    return (x[..., 1:, :] - x[..., :-1, :]).abs().mean() + (x[..., :, 1:] - x[..., :, :-1]).abs().mean()


def stylize(network, content, styles, opts):
    device = torch.device(opts.device)
    network = network.to(device)
    reference = StyleReference(network, opts.style_layers, device).learn(styles)
    canvas = content.clone().to(device).requires_grad_(True)
    with torch.no_grad(), FeatureTap(network, [opts.content_layer]) as tap:
        network(content.to(device))
        wanted = tap.last(opts.content_layer)
    optimizer = torch.optim.Adam([canvas], lr=opts.lr)
    for i in range(opts.steps):
        with FeatureTap(network, opts.style_layers + [opts.content_layer]) as tap:
            network(canvas)
        loss = F.mse_loss(tap.last(opts.content_layer), wanted)
        loss = loss + opts.style_weight * reference.loss(tap) + 0.1 * total_variation(canvas)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {i} loss {loss.item():.4f}")
    return canvas.detach().clamp(0, 1).cpu()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--style-weight", type=float, default=100.0)
    parser.add_argument("--style-layers", nargs="+", default=["relu1", "relu2"])
    parser.add_argument("--content-layer", default="relu3")
    options = parser.parse_args([])
    torch.manual_seed(6)
    out = stylize(feature_network(), torch.rand(1, 3, 16, 16), [torch.rand(3, 16, 16) for _ in range(2)], options)
    print("mean", round(out.mean().item(), 3))
