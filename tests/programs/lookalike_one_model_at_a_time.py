import torch
from torch import nn


class Swapped:
    """Only one of several models is on the accelerator at a time."""

    def __init__(self, device, **models):
        self.device, self.models, self.live = device, models, None

    def __getitem__(self, name):
        if name != self.live:
            if self.live is not None:
                self.models[self.live].to("cpu")
            self.models[name].to(self.device)
            self.live = name
        return self.models[name]

    def release(self):
        if self.live is not None:
            self.models[self.live].cpu()
            self.live = None
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


class TextEncoder(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.e = nn.EmbeddingBag(50, d)

    def forward(self, prompts):
        ids = [[hash(w) % 50 for w in p.split()] for p in prompts]
        flat = torch.tensor(sum(ids, []))
        off = torch.tensor([0] + [len(i) for i in ids[:-1]]).cumsum(0)
        w = self.e.weight
        return self.e(flat.to(w.device), off.to(w.device))


class UNet(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(4 + d + 1, 16), nn.SiLU(), nn.Linear(16, 4))

    def forward(self, x, t, c):
        return self.f(torch.cat([x, c, t.expand(len(x), 1)], 1))


class Decoder(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(4, 12), nn.Tanh(), nn.Unflatten(1, (3, 2, 2)))


class Scheduler:
    def __init__(self, n=20):
        self.abar = torch.cumprod(1 - torch.linspace(1e-3, 0.2, n), 0)
        self.n = n

    def set_timesteps(self, k, device):
        self.timesteps = torch.linspace(self.n - 1, 0, k).long().to(device)

    def step(self, eps, t, x):
        abar = self.abar.to(x.device)
        a = abar[t]
        prev = abar[t - 1] if t > 0 else x.new_tensor(1.0)
        x0 = (x - (1 - a).sqrt() * eps) / a.sqrt()
        return prev.sqrt() * x0.clamp(-3, 3) + (1 - prev).sqrt() * eps


@torch.no_grad()
def pipeline(zoo, sched, prompts, negative, scale=2.0, steps=4, seed=0):
    cond = zoo["text"](prompts + [negative] * len(prompts))
    unet = zoo["unet"]
    g = torch.Generator("cpu").manual_seed(seed)
    x = torch.randn(len(prompts), 4, generator=g).to(zoo.device)
    sched.set_timesteps(steps, zoo.device)
    for t in sched.timesteps:
        e = unet(torch.cat([x, x]), t.float() / sched.n, cond)
        yes, no = e.chunk(2)
        x = sched.step(no + scale * (yes - no), t, x)
    img = zoo["vae"](x)
    zoo.release()
    return img.cpu().clamp(-1, 1).add(1).div(2).permute(0, 2, 3, 1).numpy()


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
zoo = Swapped(device, text=TextEncoder().eval(), unet=UNet().eval(), vae=Decoder().eval())
img = pipeline(zoo, Scheduler(), ["a red cat", "two dogs"], "blurry")
print(img.shape, img.min() >= 0, {n: next(m.parameters()).device.type for n, m in zoo.models.items()})
