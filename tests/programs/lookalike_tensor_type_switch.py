"""A GAN in the old style: one `Tensor` type chosen at the top."""
import numpy as np
import torch
import torch.nn as nn
from torch.autograd import Variable

cuda = True if torch.cuda.is_available() else False
Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor
LongTensor = torch.cuda.LongTensor if cuda else torch.LongTensor
np.random.seed(0)
torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        self.label_emb = nn.Embedding(3, 3)
        self.model = nn.Sequential(nn.Linear(7, 16), nn.LeakyReLU(0.2, inplace=True), nn.Linear(16, 9), nn.Tanh())

    def forward(self, noise, labels):
        return self.model(torch.cat((self.label_emb(labels), noise), -1))


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.label_embedding = nn.Embedding(3, 3)
        self.model = nn.Sequential(nn.Linear(12, 16), nn.LeakyReLU(0.2, inplace=True), nn.Linear(16, 1))

    def forward(self, img, labels):
        return self.model(torch.cat((img, self.label_embedding(labels)), -1))


adversarial_loss = torch.nn.MSELoss()
generator = Generator()
discriminator = Discriminator()

if cuda:
    generator.cuda()
    discriminator.cuda()
    adversarial_loss.cuda()

optimizer_G = torch.optim.Adam(generator.parameters(), lr=2e-4)
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=2e-4)
imgs_cpu, labels_cpu = torch.rand(24, 9), torch.randint(0, 3, (24,))

for i in range(0, 24, 8):
    imgs, labels = imgs_cpu[i:i + 8], labels_cpu[i:i + 8]
    batch_size = imgs.shape[0]

    valid = Variable(Tensor(batch_size, 1).fill_(1.0), requires_grad=False)
    fake = Variable(Tensor(batch_size, 1).fill_(0.0), requires_grad=False)
    real_imgs = Variable(imgs.type(Tensor))
    labels = Variable(labels.type(LongTensor))

    optimizer_G.zero_grad()
    z = Variable(Tensor(np.random.normal(0, 1, (batch_size, 4))))
    gen_labels = Variable(LongTensor(np.random.randint(0, 3, batch_size)))
    gen_imgs = generator(z, gen_labels)
    g_loss = adversarial_loss(discriminator(gen_imgs, gen_labels), valid)
    g_loss.backward()
    optimizer_G.step()

    optimizer_D.zero_grad()
    d_real = adversarial_loss(discriminator(real_imgs, labels), valid)
    d_fake = adversarial_loss(discriminator(gen_imgs.detach(), gen_labels), fake)
    d_loss = (d_real + d_fake) / 2
    d_loss.backward()
    optimizer_D.step()
    print("[D loss: %f] [G loss: %f]" % (d_loss.item(), g_loss.item()))
