import itertools, random
import torch
import torch.nn as nn


class ImagePool():
    def __init__(self, pool_size):
        self.pool_size = pool_size
        self.num_imgs, self.images = 0, []

    def query(self, images):
        if self.pool_size == 0:
            return images
        return_images = []
        for image in images:
            image = torch.unsqueeze(image.data, 0)
            if self.num_imgs < self.pool_size:
                self.num_imgs += 1
                self.images.append(image)
                return_images.append(image)
            elif random.uniform(0, 1) > 0.5:
                k = random.randint(0, self.pool_size - 1)
                tmp = self.images[k].clone()
                self.images[k] = image
                return_images.append(tmp)
            else:
                return_images.append(image)
        return torch.cat(return_images, 0)


class GANLoss(nn.Module):
    def __init__(self, target_real_label=1.0, target_fake_label=0.0):
        super(GANLoss, self).__init__()
        self.register_buffer('real_label', torch.tensor([target_real_label]))
        self.register_buffer('fake_label', torch.tensor([target_fake_label]))
        self.loss = nn.MSELoss()

    def __call__(self, prediction, target_is_real):
        target = self.real_label if target_is_real else self.fake_label
        return self.loss(prediction, target.expand_as(prediction))  # FAIL


def conv(i, o): return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.InstanceNorm2d(o), nn.ReLU(True))


class CycleGAN:
    def __init__(self, gpu_ids=(0,)):
        self.gpu_ids = gpu_ids
        self.device = torch.device('cuda:{}'.format(self.gpu_ids[0])) if self.gpu_ids and torch.cuda.is_available() else torch.device('cpu')
        self.loss_names = ['G', 'D_A', 'D_B']
        self.netG_A = self.init_net(nn.Sequential(conv(3, 4), nn.Conv2d(4, 3, 1), nn.Tanh()))
        self.netG_B = self.init_net(nn.Sequential(conv(3, 4), nn.Conv2d(4, 3, 1), nn.Tanh()))
        self.netD_A = self.init_net(nn.Sequential(conv(3, 4), nn.Conv2d(4, 1, 1)))
        self.netD_B = self.init_net(nn.Sequential(conv(3, 4), nn.Conv2d(4, 1, 1)))
        self.fake_A_pool, self.fake_B_pool = ImagePool(2), ImagePool(2)
        self.criterionGAN = GANLoss()  # CAUSE
        self.criterionCycle = nn.L1Loss()
        self.optimizer_G = torch.optim.Adam(itertools.chain(self.netG_A.parameters(), self.netG_B.parameters()), lr=2e-4)
        self.optimizer_D = torch.optim.Adam(itertools.chain(self.netD_A.parameters(), self.netD_B.parameters()), lr=2e-4)

    def init_net(self, net):
        def init_func(m):
            if hasattr(m, 'weight') and m.weight is not None:
                nn.init.normal_(m.weight.data, 0.0, 0.02)
        net.to(self.device)
        net.apply(init_func)
        return net

    def set_input(self, input):
        self.real_A = input['A'].to(self.device)
        self.real_B = input['B'].to(self.device)

    def forward(self):
        self.fake_B = self.netG_A(self.real_A)
        self.rec_A = self.netG_B(self.fake_B)
        self.fake_A = self.netG_B(self.real_B)
        self.rec_B = self.netG_A(self.fake_A)

    def backward_D_basic(self, netD, real, fake):
        loss_D = (self.criterionGAN(netD(real), True) + self.criterionGAN(netD(fake.detach()), False)) * 0.5
        loss_D.backward()
        return loss_D

    def optimize_parameters(self):
        self.forward()
        for p in itertools.chain(self.netD_A.parameters(), self.netD_B.parameters()):
            p.requires_grad = False
        self.optimizer_G.zero_grad()
        self.loss_G = (self.criterionGAN(self.netD_A(self.fake_B), True) + self.criterionGAN(self.netD_B(self.fake_A), True)
                       + self.criterionCycle(self.rec_A, self.real_A) * 10 + self.criterionCycle(self.rec_B, self.real_B) * 10)
        self.loss_G.backward()
        self.optimizer_G.step()
        for p in itertools.chain(self.netD_A.parameters(), self.netD_B.parameters()):
            p.requires_grad = True
        self.optimizer_D.zero_grad()
        self.loss_D_A = self.backward_D_basic(self.netD_A, self.real_B, self.fake_B_pool.query(self.fake_B))
        self.loss_D_B = self.backward_D_basic(self.netD_B, self.real_A, self.fake_A_pool.query(self.fake_A))
        self.optimizer_D.step()

    def get_current_losses(self):
        return {n: float(getattr(self, 'loss_' + n)) for n in self.loss_names}

    def get_current_visuals(self):
        return {n: getattr(self, n).detach().cpu().numpy() for n in ('real_A', 'fake_B', 'rec_A')}


model = CycleGAN()
for i in range(3):
    model.set_input({'A': torch.rand(2, 3, 6, 6), 'B': torch.rand(2, 3, 6, 6)})
    model.optimize_parameters()
print(model.get_current_losses(), {k: v.shape for k, v in model.get_current_visuals().items()})
