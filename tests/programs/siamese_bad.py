"""Siamese network with a contrastive loss."""
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class PairDataset(Dataset):
    def __init__(self, n=40):
        rng = random.Random(0)
        self.items = []
        for _ in range(n):
            same = rng.random() < 0.5
            a = torch.randn(1, 10, 10)
            b = a + 0.05 * torch.randn(1, 10, 10) if same else torch.randn(1, 10, 10)
            self.items.append((a, b, 0.0 if same else 1.0))

    def __getitem__(self, index):
        a, b, label = self.items[index]
        return a, b, torch.tensor([label], dtype=torch.float32)

    def __len__(self):
        return len(self.items)


class SiameseNetwork(nn.Module):
    def __init__(self):
        super(SiameseNetwork, self).__init__()
        self.cnn = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.fc = nn.Linear(64, 5)

    def forward_once(self, x):
        return self.fc(self.cnn(x))

    def forward(self, input1, input2):
        return self.forward_once(input1), self.forward_once(input2)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=2.0):
        super(ContrastiveLoss, self).__init__()
        self.margin = margin

    def forward(self, output1, output2, label):
        distance = nn.functional.pairwise_distance(output1, output2, keepdim=True)
        return torch.mean((1 - label) * torch.pow(distance, 2) +  # FAIL
                          label * torch.pow(torch.clamp(self.margin - distance, min=0.0), 2))


torch.manual_seed(0)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
loader = DataLoader(PairDataset(), shuffle=True, batch_size=8)
net = SiameseNetwork().to(device)
criterion = ContrastiveLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-4)

counter, loss_history = [], []
for epoch in range(2):
    for i, (img0, img1, label) in enumerate(loader):
        img0, img1, label = img0.to(device), img1.to(device), label  # CAUSE
        optimizer.zero_grad()
        output1, output2 = net(img0, img1)
        loss = criterion(output1, output2, label)  # CALL
        loss.backward()
        optimizer.step()
        if i % 4 == 0:
            counter.append(epoch * len(loader) + i)
            loss_history.append(loss.item())
print(list(zip(counter, loss_history)))
