import torch
import torch.autograd as autograd
import torch.nn as nn


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))

    def forward(self, x):
        return self.net(x)


class WGAN:
    def __init__(self, cuda=True):
        self.cuda = cuda and torch.cuda.is_available()
        self.D = Critic()
        self.G = nn.Linear(2, 4)
        if self.cuda:
            self.D, self.G = self.D.cuda(), self.G.cuda()
        self.lambda_term = 10
        self.d_opt = torch.optim.RMSprop(self.D.parameters(), lr=5e-5)

    def get_variable(self, arg):
        return arg.cuda() if self.cuda else arg

    def calculate_gradient_penalty(self, real, fake):
        eta = torch.FloatTensor(real.size(0), 1).uniform_(0, 1).expand(real.size(0), real.size(1))
        eta = self.get_variable(eta)
        interpolated = eta * real + ((1 - eta) * fake)
        interpolated.requires_grad_(True)
        prob = self.D(interpolated)
        gradients = autograd.grad(outputs=prob, inputs=interpolated, grad_outputs=torch.ones_like(prob), create_graph=True, retain_graph=True)[0]
        return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * self.lambda_term

    def train(self, steps=2):
        for _ in range(steps):
            images = self.get_variable(torch.randn(4, 4))
            z = self.get_variable(torch.randn(4, 2))
            fake = self.G(z).detach()
            loss = self.D(fake).mean() - self.D(images).mean() + self.calculate_gradient_penalty(images, fake)
            self.d_opt.zero_grad()
            loss.backward()
            self.d_opt.step()


WGAN().train()
