import torch
from torch import nn


def relative_index(ws):
    coords = torch.stack(torch.meshgrid(torch.arange(ws), torch.arange(ws), indexing="ij")).flatten(1)
    rel = (coords[:, :, None] - coords[:, None, :]).permute(1, 2, 0) + ws - 1
    return rel[..., 0] * (2 * ws - 1) + rel[..., 1]


class WindowAttention(nn.Module):
    def __init__(self, dim, ws, heads):
        super().__init__()
        self.heads, self.ws = heads, ws
        self.table = nn.Parameter(torch.zeros((2 * ws - 1) ** 2, heads))
        self.register_buffer("index", relative_index(ws), persistent=False)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, mask=None):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        att = q @ k.transpose(-1, -2) * (c // self.heads) ** -0.5
        att = att + self.table[self.index.view(-1)].view(n, n, -1).permute(2, 0, 1)
        if mask is not None:
            nw = mask.shape[0]
            att = att.view(b // nw, nw, self.heads, n, n) + mask[:, None].to(att.device)
            att = att.view(-1, self.heads, n, n)
        return self.proj((att.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c))


class Block(nn.Module):
    def __init__(self, dim, ws, shift, size):
        super().__init__()
        self.ws, self.shift, self.size = ws, shift, size
        self.attn = WindowAttention(dim, ws, 2)
        self.mask = self.build_mask() if shift else None

    def build_mask(self):
        img = torch.zeros(1, self.size, self.size, 1)
        img[:, -self.shift :] = 1
        w = self.windows(img).squeeze(-1)
        diff = w[:, None, :] - w[:, :, None]
        return diff.masked_fill(diff != 0, -100.0)

    def windows(self, x):
        b, h, w, c = x.shape
        s = self.ws
        return x.view(b, h // s, s, w // s, s, c).transpose(2, 3).reshape(-1, s * s, c)

    def forward(self, x):
        if self.shift:
            x = x.roll((-self.shift, -self.shift), (1, 2))
        y = self.attn(self.windows(x), self.mask)
        return x.mean((1, 2)), y


class Swin(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(4, 2, s, 4) for s in (0, 1))
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        feats = [b(x)[0] for b in self.blocks]
        return self.head(sum(feats))


dev = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
net = Swin().to(dev)
print(net(torch.randn(2, 4, 4, 4, device=dev)).shape)
