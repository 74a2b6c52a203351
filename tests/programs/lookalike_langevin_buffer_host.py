import random
import torch
import torch.nn as nn


class Sampler:
    """Keeps its examples on the CPU; a chunk of them is moved for each round of Langevin steps."""

    def __init__(self, model, img_shape, sample_size, max_len=64, device="cpu"):
        self.model = model
        self.img_shape, self.sample_size, self.max_len = img_shape, sample_size, max_len
        self.device = device
        self.examples = [(torch.rand((1,) + img_shape) * 2 - 1) for _ in range(self.sample_size)]

    def sample_new_exmps(self, steps=5, step_size=10):
        n_new = sum(random.random() < 0.05 for _ in range(self.sample_size))
        rand_imgs = torch.rand((n_new,) + self.img_shape) * 2 - 1
        old_imgs = torch.cat(random.choices(self.examples, k=self.sample_size - n_new), dim=0)
        inp_imgs = torch.cat([rand_imgs, old_imgs], dim=0).detach().to(self.device)
        inp_imgs = Sampler.generate_samples(self.model, inp_imgs, steps, step_size)
        self.examples = list(inp_imgs.to(torch.device("cpu")).chunk(self.sample_size, dim=0)) + self.examples
        self.examples = self.examples[:self.max_len]
        return inp_imgs

    @staticmethod
    def generate_samples(model, inp_imgs, steps, step_size):
        for p in model.parameters():
            p.requires_grad = False
        inp_imgs.requires_grad = True
        noise = torch.randn(inp_imgs.shape, device=inp_imgs.device)
        for _ in range(steps):
            noise.normal_(0, 0.005)
            inp_imgs.data.add_(noise.data)
            inp_imgs.data.clamp_(min=-1.0, max=1.0)
            out = -model(inp_imgs)
            out.sum().backward()
            inp_imgs.grad.data.clamp_(-0.03, 0.03)
            inp_imgs.data.add_(-step_size * inp_imgs.grad.data)
            inp_imgs.grad.detach_()
            inp_imgs.grad.zero_()
        for p in model.parameters():
            p.requires_grad = True
        return inp_imgs.detach()


device = torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")
net = nn.Sequential(nn.Flatten(), nn.Linear(16, 16), nn.SiLU(), nn.Linear(16, 1)).to(device)
sampler = Sampler(net, (1, 4, 4), 8, device=device)
opt = torch.optim.Adam(net.parameters(), 1e-3)
for it in range(3):
    real = torch.rand(8, 1, 4, 4, device=device)
    fake = sampler.sample_new_exmps()
    real_out, fake_out = net(torch.cat([real, fake], 0)).chunk(2, dim=0)
    loss = (real_out ** 2 + fake_out ** 2).mean() + fake_out.mean() - real_out.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(it, loss.item(), len(sampler.examples), sampler.examples[0].device.type)
