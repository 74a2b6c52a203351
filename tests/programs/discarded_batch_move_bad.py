"""Fine-tunes the last layer of a little image classifier."""
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print("device:", device)

# fake data: 3x16x16 images, 5 classes
full = TensorDataset(torch.rand(48, 3, 16, 16), torch.randint(0, 5, (48,)))
train_set, val_set = random_split(full, [36, 12])
loaders = {
    "train": DataLoader(train_set, batch_size=12, shuffle=True),
    "val": DataLoader(val_set, batch_size=12),
}

backbone = nn.Sequential(
    nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
    nn.AdaptiveAvgPool2d(2), nn.Flatten(),
)
for p in backbone.parameters():
    p.requires_grad = False
model = nn.Sequential(backbone, nn.Linear(32, 5))
model.to(device)

criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model[1].parameters(), lr=0.01, momentum=0.9)

for epoch in range(2):
    for phase in ["train", "val"]:
        model.train(phase == "train")
        running_loss, n_correct, n = 0.0, 0, 0
        for images, labels in loaders[phase]:
            images.to(device)  # CAUSE
            labels = labels.to(device)
            optimizer.zero_grad()
            with torch.set_grad_enabled(phase == "train"):
                outputs = model(images)  # FAIL
                loss = criterion(outputs, labels)
                if phase == "train":
                    loss.backward()
                    optimizer.step()
            running_loss += loss.item() * images.size(0)
            n_correct += (outputs.argmax(1) == labels).sum().item()
            n += images.size(0)
        print(f"{epoch} {phase}: loss {running_loss / n:.3f} acc {n_correct / n:.2%}")
