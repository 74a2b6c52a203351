import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class BasicDataset(Dataset):
    def __init__(self, n):
        self.ids = list(range(n))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, idx):
        return {"image": torch.rand(1, 8, 8), "mask": torch.randint(0, 2, (8, 8))}


class DoubleConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.double_conv = nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))

    def forward(self, x):
        return self.double_conv(x)


def dice_coeff(input, target, epsilon=1e-6):
    inter = 2 * (input * target).sum(dim=(-1, -2))
    sets_sum = input.sum(dim=(-1, -2)) + target.sum(dim=(-1, -2))
    return ((inter + epsilon) / (sets_sum + epsilon)).mean()


@torch.inference_mode()
def evaluate(net, dataloader, device):
    net.eval()
    score = 0
    for batch in dataloader:
        image, mask_true = batch["image"], batch["mask"]
        image = image.to(device=device, dtype=torch.float32)
        mask_true = mask_true.to(device=device, dtype=torch.float32)
        mask_pred = (torch.sigmoid(net(image)).squeeze(1) > 0.5).float()
        score += dice_coeff(mask_pred, mask_true)
    net.train()
    return score / max(len(dataloader), 1)


def train_model(model, device, epochs=1):
    loader = DataLoader(BasicDataset(6), batch_size=2, num_workers=0, pin_memory=False)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4, foreach=False)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(1, epochs + 1):
        for batch in loader:
            images, true_masks = batch["image"], batch["mask"]
            images = images.to(device=device, dtype=torch.float32, memory_format=torch.channels_last)
            true_masks = true_masks.to(device=device, dtype=torch.float32)
            loss = criterion(model(images).squeeze(1), true_masks)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        evaluate(model, loader, device)


if __name__ == "__main__":
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Sequential(DoubleConv(1, 4), nn.Conv2d(4, 1, 1))
    model.to(device=device)
    train_model(model, device)
