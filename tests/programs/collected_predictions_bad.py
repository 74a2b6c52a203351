"""Evaluation that collects predictions of all batches before it compares them."""
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

features = torch.randn(100, 7)
targets = (features @ torch.randn(7, 3)).argmax(dim=1)
train_loader = DataLoader(TensorDataset(features[:70], targets[:70]), batch_size=14, shuffle=True)
valid_loader = DataLoader(TensorDataset(features[70:], targets[70:]), batch_size=10)

net = nn.Sequential(nn.Linear(7, 20), nn.Hardswish(), nn.Linear(20, 3)).to(device)
loss_function = nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = optim.AdamW(net.parameters(), lr=0.02)


def train_one_epoch():
    net.train()
    total = 0.0
    for x, y in train_loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = loss_function(net(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(train_loader)


def evaluate():
    net.eval()
    all_preds, all_labels = [], []
    with torch.no_grad():
        for x, y in valid_loader:
            logits = net(x.to(device))
            all_preds.append(logits.argmax(dim=1))  # CAUSE
            all_labels.append(y)
    preds = torch.cat(all_preds)
    labels = torch.cat(all_labels)
    accuracy = (preds == labels).float().mean().item()  # FAIL
    per_class = [(preds[labels == c] == c).float().mean().item() for c in range(3)]
    return accuracy, per_class


best = 0.0
for epoch in range(3):
    train_loss = train_one_epoch()
    acc, per_class = evaluate()
    best = max(best, acc)
    print(f"epoch {epoch} loss {train_loss:.3f} acc {acc:.3f} per class", [round(v, 2) for v in per_class])
print("best", best)
