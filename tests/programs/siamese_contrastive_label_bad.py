import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class PairDataset(Dataset):
    def __init__(self, n):
        self.x = torch.randn(n, 6)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        other = (index * 7 + 3) % len(self.x)
        same = torch.tensor([float(index % 2 == other % 2)])
        return self.x[index], self.x[other], same


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(6, 8), nn.ReLU(inplace=True), nn.Linear(8, 2))

    def forward_once(self, x):
        return self.fc(x)

    def forward(self, a, b):
        return self.forward_once(a), self.forward_once(b)


class ContrastiveLoss(torch.nn.Module):
    def __init__(self, margin=2.0):
        super().__init__()
        self.margin = margin

    def forward(self, output1, output2, label):
        d = F.pairwise_distance(output1, output2, keepdim=True)
        return torch.mean((1 - label) * torch.pow(d, 2) + label * torch.pow(torch.clamp(self.margin - d, min=0.0), 2))  # FAIL


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = SiameseNetwork().to(device)
criterion = ContrastiveLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.0005)
for i, (img0, img1, label) in enumerate(DataLoader(PairDataset(12), shuffle=True, batch_size=4)):
    img0, img1 = img0.to(device), img1.to(device)
    optimizer.zero_grad()
    output1, output2 = net(img0, img1)
    loss = criterion(output1, output2, label)  # CALL
    loss.backward()
    optimizer.step()
print("siamese")
