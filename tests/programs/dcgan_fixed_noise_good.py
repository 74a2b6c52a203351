import torch
import torch.nn as nn

nz, ngf, nc = 6, 4, 1
device = torch.device("cuda:0" if (torch.cuda.is_available() and 1 > 0) else "cpu")


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)


class Generator(nn.Module):
    def __init__(self, ngpu):
        super(Generator, self).__init__()
        self.ngpu = ngpu
        self.main = nn.Sequential(nn.ConvTranspose2d(nz, ngf, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf), nn.ReLU(True), nn.ConvTranspose2d(ngf, nc, 4, 2, 1), nn.Tanh())

    def forward(self, input):
        return self.main(input)


netG = Generator(1).to(device)
netG.apply(weights_init)
fixed_noise = torch.randn(4, nz, 1, 1, device=device)
img_list = []
iters = 0
for epoch in range(1):
    for i in range(3):
        noise = torch.randn(4, nz, 1, 1, device=device)
        fake = netG(noise)
        fake.mean().backward()
        if (iters % 500 == 0) or (i == 2):
            with torch.no_grad():
                fake = netG(fixed_noise).detach().cpu()
            img_list.append(fake)
        iters += 1
print(len(img_list))
