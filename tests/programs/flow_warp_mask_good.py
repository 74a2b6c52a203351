import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')


def warp(x, flo):
    """warp an image/tensor (im2) back to im1, according to the optical flow"""
    B, C, H, W = x.size()
    xx = torch.arange(0, W).view(1, -1).repeat(H, 1)
    yy = torch.arange(0, H).view(-1, 1).repeat(1, W)
    xx = xx.view(1, 1, H, W).repeat(B, 1, 1, 1)
    yy = yy.view(1, 1, H, W).repeat(B, 1, 1, 1)
    grid = torch.cat((xx, yy), 1).float()
    if x.is_cuda:
        grid = grid.cuda()
    vgrid = grid + flo
    vgrid[:, 0, :, :] = 2.0 * vgrid[:, 0, :, :].clone() / max(W - 1, 1) - 1.0
    vgrid[:, 1, :, :] = 2.0 * vgrid[:, 1, :, :].clone() / max(H - 1, 1) - 1.0
    vgrid = vgrid.permute(0, 2, 3, 1)
    output = F.grid_sample(x, vgrid, align_corners=True)
    mask = torch.ones(x.size()).to(x.device)
    mask = F.grid_sample(mask, vgrid, align_corners=True)
    mask = (mask > 0.999).float()
    return output * mask, mask


class FlowNetTiny(nn.Module):
    def __init__(self):
        super(FlowNetTiny, self).__init__()
        self.net = nn.Sequential(
            nn.Conv2d(6, 16, 3, padding=1), nn.LeakyReLU(0.1, inplace=True),
            nn.Conv2d(16, 16, 3, padding=1), nn.LeakyReLU(0.1, inplace=True),
            nn.Conv2d(16, 2, 3, padding=1))
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight)

    def forward(self, a, b):
        return self.net(torch.cat([a, b], 1))


def smoothness(flow, img):
    gx = (flow[..., 1:] - flow[..., :-1]).abs()
    gy = (flow[..., 1:, :] - flow[..., :-1, :]).abs()
    wx = torch.exp(-(img[..., 1:] - img[..., :-1]).abs().mean(1, keepdim=True))
    wy = torch.exp(-(img[..., 1:, :] - img[..., :-1, :]).abs().mean(1, keepdim=True))
    return (gx * wx).mean() + (gy * wy).mean()


model = FlowNetTiny().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
kernel = torch.tensor([[1., 2., 1.], [2., 4., 2.], [1., 2., 1.]]) / 16
kernel = kernel.to(device)


def blur(img):
    c = img.shape[1]
    return F.conv2d(img, kernel.expand(c, 1, 3, 3), padding=1, groups=c)


for i in range(2):
    img1 = torch.rand(2, 3, 16, 16).to(device)
    img2 = torch.roll(img1, 1, dims=3)
    flow = model(blur(img1), blur(img2))
    warped, mask = warp(img2, flow)
    photo = ((warped - img1).abs() * mask).sum() / (mask.sum() + 1e-6)
    loss = photo + 0.1 * smoothness(flow, img1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print('iter {} loss {:.4f}'.format(i, loss.item()))
