from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Batch:
    images: Tensor
    boxes: Tensor
    labels: Tensor

    def to(self, device):
        return Batch(self.images.to(device), self.boxes.to(device), self.labels.to(device))


class Shapes(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return torch.rand(3, 8, 8, generator=g), torch.rand(4, generator=g), i % 3


def to_batch(items):
    images, boxes, labels = zip(*items)
    return Batch(torch.stack(images), torch.stack(boxes), torch.tensor(labels))


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.box = nn.Linear(8, 4)
        self.cls = nn.Linear(8, 3)

    def forward(self, x):
        h = self.body(x)
        return self.box(h), self.cls(h)


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Detector().to(device)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in DataLoader(Shapes(), batch_size=4, collate_fn=to_batch):
        batch = batch.to(device)
        box, cls = model(batch.images)
        loss = nn.functional.smooth_l1_loss(box, batch.boxes) + nn.functional.cross_entropy(cls, batch.labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("done")


if __name__ == "__main__":
    main()
