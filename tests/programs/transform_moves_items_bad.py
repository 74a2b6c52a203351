import torch


class ToDevice:
    def __init__(self, device):
        self.device = device

    def __call__(self, t):
        return t.to(self.device)

    def __repr__(self):
        return f"ToDevice({self.device})"


class Jitter:
    def __call__(self, t):
        return t + 0.01 * torch.randn_like(t)


class Compose:
    def __init__(self, *fs):
        self.fs = fs

    def __call__(self, t):
        for f in self.fs:
            t = f(t)
        return t


class Lookup(torch.utils.data.Dataset):
    def __init__(self, n, transform=None):
        self.x = torch.randn(n, 3)
        self.transform = transform or (lambda t: t)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.transform(self.x[i])


d = torch.device("cuda" if torch.cuda.is_available() else "cpu")
ds = Lookup(6, Compose(torch.nn.functional.relu, Jitter()))
lin = torch.nn.Linear(3, 2).to(d)
for x in torch.utils.data.DataLoader(ds, batch_size=2):
    y = lin(x)  # FAIL
print(y.shape)
