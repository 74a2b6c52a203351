import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Normalize:
    def __init__(self, mean, std):
        self.mean = torch.tensor(mean)[:, None, None]
        self.std = torch.tensor(std)[:, None, None]

    def __call__(self, x):
        return (x - self.mean) / self.std


class Images(Dataset):
    def __init__(self, n, transform):
        self.data = np.random.rand(n, 3, 4, 4).astype("float32")
        self.transform = transform

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.transform(torch.from_numpy(self.data[i])), i


device = "cuda" if torch.cuda.is_available() else "cpu"
net = torch.nn.Conv2d(3, 2, 1).to(device)
for x, i in DataLoader(Images(6, Normalize([0.5, 0.5, 0.5], [0.2, 0.2, 0.2])), batch_size=3):
    print(net(x.to(device)).shape, i.tolist())
