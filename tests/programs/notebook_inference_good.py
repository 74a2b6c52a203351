"""Cells of a notebook put one after the other: train, then look at a few predictions."""
# %%
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(0)
torch.manual_seed(0)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
device

# %%
x = np.random.rand(200, 2).astype(np.float32) * 4 - 2
y = (np.linalg.norm(x, axis=1) < 1.2).astype(np.int64)
trainloader = DataLoader(TensorDataset(torch.from_numpy(x[:160]), torch.from_numpy(y[:160])), batch_size=40, shuffle=True)
testloader = DataLoader(TensorDataset(torch.from_numpy(x[160:]), torch.from_numpy(y[160:])), batch_size=4, shuffle=False)
classes = ("outside", "inside")

# %%
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 20)
        self.fc2 = nn.Linear(20, 2)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))

net = Net()
net.to(device)

# %%
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(net.parameters(), lr=0.01)
for epoch in range(3):  # loop over the dataset multiple times
    running_loss = 0.0
    for i, data in enumerate(trainloader, 0):
        # get the inputs; data is a list of [inputs, labels]
        inputs, labels = data[0].to(device), data[1].to(device)
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    print(f"[{epoch + 1}] loss: {running_loss / len(trainloader):.3f}")
print("Finished Training")

# %%
dataiter = iter(testloader)
points, labels = next(dataiter)
print("GroundTruth: ", " ".join(f"{classes[j]:8s}" for j in labels))

outputs = net(points.to(device))
_, predicted = torch.max(outputs, 1)
print("Predicted: ", " ".join(f"{classes[j]:8s}" for j in predicted))
