"""Signed distance rendering; one stack sets up where tensors are born, precision and gradients."""
from contextlib import ExitStack
import torch


def sphere(p, centre, r):
    return (p - centre).norm(dim=-1) - r


def plane(p, height):
    return p[..., 1] - height


class Scene:
    def __init__(self):
        self.centres = torch.tensor([[0.0, 0.0, 3.0], [1.0, 0.3, 4.0]])
        self.radii = torch.tensor([1.0, 0.6])

    def __call__(self, p):
        balls = torch.stack([sphere(p, c, r) for c, r in zip(self.centres, self.radii)])
        return torch.minimum(balls.amin(0), plane(p, -1.0))


def rays(w, h):
    y, x = torch.meshgrid(torch.linspace(1, -1, h), torch.linspace(-1, 1, w), indexing="ij")
    d = torch.stack([x, y, torch.ones_like(x)], -1)
    return torch.zeros_like(d), d / d.norm(dim=-1, keepdim=True)


def march(scene, o, d, steps=12):
    t = torch.zeros(o.shape[:-1])
    for _ in range(steps):
        t = t + scene(o + t[..., None] * d).clamp(max=1.0)
    return t


def render(size, gpu):
    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        if gpu:
            stack.enter_context(torch.device("cuda"))
        scene = Scene()
        o, d = rays(size, size)
        depth = march(scene, o, d)
        light = torch.tensor([0.3, 1.0, -0.5])
        shade = (light * d).sum(-1)
    picture = torch.where(depth < 8, shade, 0.0)
    host = picture.cpu()
    return host.numpy(), depth


def main():
    gpu = torch.cuda.is_available()
    picture, depth = render(10, gpu)
    fog = torch.exp(-torch.arange(10, device=depth.device) / 4)
    print(picture.shape, (depth * fog).mean().item() > 0)


main()
