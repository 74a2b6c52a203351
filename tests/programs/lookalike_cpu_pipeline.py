"""Data preparation is CPU work: datasets, transforms and collate functions make CPU tensors on purpose."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

IMAGENET_MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
IMAGENET_STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)


class Normalize:
    def __init__(self, mean=IMAGENET_MEAN, std=IMAGENET_STD):
        self.mean, self.std = mean, std

    def __call__(self, img):
        return (img - self.mean) / self.std


class RandomErase:
    def __call__(self, img):
        keep = torch.ones_like(img)
        y, x = torch.randint(0, 6, (2,)).tolist()
        keep[:, y:y + 2, x:x + 2] = 0
        return img * keep + torch.rand(img.shape) * (1 - keep)


class Pictures(Dataset):
    def __init__(self, n, tfms):
        self.n, self.tfms = n, tfms

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        img = torch.rand(3, 8, 8 + i % 3, generator=g)
        for t in self.tfms:
            img = t(img)
        return img, torch.tensor(i % 2)


def collate(items):
    width = max(img.shape[-1] for img, _ in items)
    imgs = torch.zeros(len(items), 3, 8, width)
    for k, (img, _) in enumerate(items):
        imgs[k] = F.pad(img, (0, width - img.shape[-1]))
    return imgs, torch.stack([y for _, y in items])


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(Pictures(12, [Normalize(), RandomErase()]), batch_size=4, collate_fn=collate)
    cnn = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(4, 2)).to(device)
    criterion = nn.CrossEntropyLoss()
    running = torch.zeros(3)
    for imgs, labels in loader:
        running += imgs.mean((0, 2, 3))
        imgs, labels = imgs.to(device), labels.to(device)
        print(criterion(cnn(imgs), labels).item())
    print("channel means", (running / len(loader)).numpy())


main()
