import numpy as np
import torch
import torch.nn as nn


def patchify(imgs, p=4):
    n, c, h, w = imgs.shape
    x = imgs.reshape(n, c, h // p, p, w // p, p)
    return torch.einsum('nchpwq->nhwpqc', x).reshape(n, (h // p) * (w // p), p * p * c)


def get_2d_sincos_pos_embed(dim, grid):
    pos = np.arange(grid * grid, dtype=np.float32)
    omega = 1.0 / 10000 ** (np.arange(dim // 2, dtype=np.float32) / (dim / 2.0))
    out = np.einsum('m,d->md', pos, omega)
    return np.concatenate([np.sin(out), np.cos(out)], axis=1)


class MAE(nn.Module):
    def __init__(self, dim=16, grid=4, p=4):
        super().__init__()
        self.p = p
        self.embed = nn.Linear(3 * p * p, dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.register_buffer('pos', torch.from_numpy(get_2d_sincos_pos_embed(dim, grid)).float().unsqueeze(0))
        self.block = nn.TransformerEncoderLayer(dim, 2, 32, batch_first=True)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.dec = nn.Linear(dim, 3 * p * p)

    def random_masking(self, x, ratio):
        N, L, D = x.shape
        keep = int(L * (1 - ratio))
        noise = torch.rand(N, L, device=x.device)
        ids_shuffle = torch.argsort(noise, dim=1)
        ids_restore = torch.argsort(ids_shuffle, dim=1)
        ids_keep = ids_shuffle[:, :keep]
        x = torch.gather(x, 1, ids_keep.unsqueeze(-1).repeat(1, 1, D))
        mask = torch.ones([N, L], device=x.device)
        mask[:, :keep] = 0
        return x, torch.gather(mask, 1, ids_restore), ids_restore

    def forward(self, imgs, ratio=0.5):
        x = self.embed(patchify(imgs, self.p)) + self.pos  # FAIL
        x, mask, ids = self.random_masking(x, ratio)
        x = self.block(torch.cat([self.cls.expand(len(x), -1, -1), x], 1))[:, 1:]
        fill = self.mask_token.repeat(x.shape[0], ids.shape[1] - x.shape[1], 1)
        x = torch.gather(torch.cat([x, fill], 1), 1, ids.unsqueeze(-1).repeat(1, 1, x.shape[2]))
        pred = self.dec(x)
        loss = (pred - patchify(imgs, self.p)).pow(2).mean(-1)
        return (loss * mask).sum() / mask.sum(), pred


def train_one_epoch(model, loader, opt, device):
    model.train()
    for it, samples in enumerate(loader):
        samples.to(device, non_blocking=True)
        loss, _ = model(samples)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(it, loss.item())


if __name__ == '__main__':
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    model = MAE().to(device)
    opt = torch.optim.AdamW(model.parameters(), 1e-3, betas=(0.9, 0.95))
    train_one_epoch(model, [torch.rand(4, 3, 16, 16) for _ in range(2)], opt, device)
