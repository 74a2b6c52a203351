"""Classify squares, crosses and bars with a small convolutional network."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def draw(n):
    images = 0.1 * torch.randn(n, 1, 16, 16)
    labels = torch.randint(0, 3, (n,))
    for i in range(n):
        if labels[i] == 0:
            images[i, :, 4:12, 4:12] += 1
        elif labels[i] == 1:
            images[i, :, 7:9, :] += 1
            images[i, :, :, 7:9] += 1
        else:
            images[i, :, :, 3:6] += 1
    return TensorDataset(images, labels)


class ShapeNet(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.fc = nn.Linear(16, n_classes)
        self.register_buffer("mean", torch.tensor(0.2))
        self.register_buffer("scale", torch.full((1, 1, 1, 1), 2.0))

    def forward(self, x):
        x = (x - self.mean) * self.scale
        x = F.max_pool2d(F.relu(self.bn(self.conv1(x))), 2)
        x = F.relu(self.conv2(x))
        return self.fc(x.mean(dim=(2, 3)))


train_loader = DataLoader(draw(96), batch_size=32, shuffle=True)
test_loader = DataLoader(draw(32), batch_size=16)

model = ShapeNet().to(device)
class_weights = torch.tensor([1.0, 1.5, 1.0], device=device)
criterion = nn.CrossEntropyLoss(weight=class_weights)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(3):
    model.train()
    total = torch.zeros(1, device=device)
    for images, labels in train_loader:
        images = images.to(device)
        labels = labels.to(device)
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.detach()
    print(f"epoch {epoch}: loss {total.item() / len(train_loader):.2f}")

model.eval()
confusion = torch.zeros(3, 3, dtype=torch.long)
with torch.no_grad():
    for images, labels in test_loader:
        predicted = model(images.to(device)).argmax(1).cpu()
        for truth, guess in zip(labels, predicted):
            confusion[truth, guess] += 1
print("accuracy", round(confusion.diag().sum().item() / confusion.sum().item(), 2))
