import torch
import torch.nn as nn

HAVE_TWO = torch.cuda.device_count() > 1
DEV0 = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
DEV1 = torch.device("cuda:1" if HAVE_TWO else DEV0)


class Down(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = nn.Conv1d(i, o, 3, padding=1)
        self.pool = nn.MaxPool1d(2)

    def forward(self, x):
        s = self.conv(x).relu()
        return self.pool(s), s


class Up(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.up = nn.Upsample(scale_factor=2)
        self.conv = nn.Conv1d(i + o, o, 3, padding=1)

    def forward(self, x, skip):
        x = self.up(x)
        return self.conv(torch.cat([x, skip], 1)).relu()


class PipelinedUNet(nn.Module):
    def __init__(self, c=1, w=4):
        super().__init__()
        self.d1 = Down(c, w).to(DEV0)
        self.d2 = Down(w, 2 * w).to(DEV0)
        self.mid = nn.Conv1d(2 * w, 2 * w, 3, padding=1).to(DEV1)
        self.u2 = Up(2 * w, 2 * w).to(DEV1)
        self.u1 = Up(2 * w, w).to(DEV1)
        self.out = nn.Conv1d(w, c, 1).to(DEV1)

    def forward(self, x):
        x, s1 = self.d1(x.to(DEV0))
        x, s2 = self.d2(x)
        x, s2, s1 = x.to(DEV1), s2.to(DEV1), s1.to(DEV1)
        x = self.u2(self.mid(x), s2)
        x = self.u1(x, s1)
        return self.out(x)


def train(model, batches):
    opt = torch.optim.Adam(model.parameters())
    for x in batches:
        noisy = x + 0.1 * torch.randn_like(x)
        out = model(noisy)
        loss = (out - x.to(out.device)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


print(train(PipelinedUNet(), torch.randn(2, 3, 1, 16)))
