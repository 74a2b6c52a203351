import torch as th
from torch import nn, autograd

USE = th.cuda.is_available()


def to_gpu(*xs):
    """moves whatever it gets if there is a GPU"""
    out = [x.cuda() if USE else x for x in xs]
    return out[0] if len(out) == 1 else out


def mlp(*dims, act=nn.LeakyReLU):
    layers = []
    for i, o in zip(dims[:-1], dims[1:]):
        layers += [nn.Linear(i, o), act()]
    return nn.Sequential(*layers[:-1])


def gradient_penalty(D, real, fake, weight=10.):
    alpha = to_gpu(th.rand(real.size(0), 1))
    mix = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = D(mix)
    g, = autograd.grad(score, mix, grad_outputs=th.ones(score.size()), create_graph=True, retain_graph=True)  # CAUSE
    return weight * ((g.norm(2, dim=1) - 1) ** 2).mean()


def noise(n, d=4):
    return to_gpu(th.randn(n, d))


class GradLogger:
    def __init__(self, module):
        self.norms = {}
        for name, p in module.named_parameters():
            p.register_hook(self.make(name))

    def make(self, name):
        def hook(grad):
            self.norms[name] = grad.norm().item()
        return hook


G, D = to_gpu(mlp(4, 16, 2), mlp(2, 16, 1))
log = GradLogger(G)
oG, oD = (th.optim.Adam(m.parameters(), 1e-4, betas=(0., .9)) for m in (G, D))
real_all = th.randn(64, 2) * .1 + th.tensor([2., -1.])
for it in range(3):
    for p in D.parameters():
        p.requires_grad_(True)
    for _ in range(2):
        real = to_gpu(real_all[th.randint(64, (16,))])
        with th.no_grad():
            fake = G(noise(16))
        lossD = D(fake).mean() - D(real).mean() + gradient_penalty(D, real, fake)
        oD.zero_grad(); lossD.backward(); oD.step()
    for p in D.parameters():
        p.requires_grad_(False)
    lossG = -D(G(noise(16))).mean()
    oG.zero_grad(); lossG.backward(); oG.step()
    print(it, lossD.item(), lossG.item(), sum(log.norms.values()))
