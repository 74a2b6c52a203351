import torch
from torch import nn


class OffloadedAdam:
    """Adam whose fp32 master weights and moments live on the host."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        self.params = [p for p in params if p.requires_grad]
        self.lr, self.betas, self.eps, self.t = lr, betas, eps, 0
        self.master = [p.detach().float().cpu().clone() for p in self.params]
        self.m = [torch.zeros_like(w) for w in self.master]
        self.v = [torch.zeros_like(w) for w in self.master]

    def zero_grad(self):
        for p in self.params:
            p.grad = None

    @torch.no_grad()
    def step(self):
        self.t += 1
        b1, b2 = self.betas
        for p, w, m, v in zip(self.params, self.master, self.m, self.v):
            if p.grad is None:
                continue
            g = p.grad.float().cpu()
            m.mul_(b1).add_(g, alpha=1 - b1)
            v.mul_(b2).addcmul_(g, g, value=1 - b2)
            denom = (v / (1 - b2 ** self.t)).sqrt_().add_(self.eps)
            w.addcdiv_(m, denom, value=-self.lr / (1 - b1 ** self.t))
            p.copy_(w)

    def state_dict(self):
        return {"t": self.t, "m": self.m, "v": self.v, "master": self.master}


class OffloadedStack(nn.Module):
    """Layers stay on the host, each visits the accelerator for its turn."""

    def __init__(self, layers, device):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.device = device

    @torch.no_grad()
    def forward(self, x):
        x = x.to(self.device)
        for layer in self.layers:
            layer.to(self.device)
            x = torch.tanh(layer(x))
            layer.to("cpu")
        return x.cpu()


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(8, 32), nn.SiLU(), nn.Linear(32, 1)).to(device)
    opt = OffloadedAdam(net.parameters(), lr=1e-2)
    target = torch.randn(8, 1)
    losses = []
    for step in range(10):
        x = torch.randn(32, 8)
        y = (x @ target).to(device)
        loss = nn.functional.huber_loss(net(x.to(device)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    drift = max((p.detach().cpu() - w).abs().max().item() for p, w in zip(opt.params, opt.master))
    print(losses[0], losses[-1], "drift", drift)
    stack = OffloadedStack([nn.Linear(16, 16) for _ in range(4)], device)
    out = stack(torch.randn(5, 16))
    reference = torch.randn(5, 16)
    print(torch.cdist(out, reference).shape, stack.layers[0].weight.device.type)
    print(sum(t.numel() for t in opt.state_dict()["m"]))


if __name__ == "__main__":
    main()
