import torch
import torch.nn as nn

if torch.cuda.device_count() >= 2:
    dev0, dev1 = torch.device("cuda:0"), torch.device("cuda:1")
else:
    dev0 = dev1 = torch.device("cpu")


class ToyModel(nn.Module):
    def __init__(self):
        super(ToyModel, self).__init__()
        self.net1 = nn.Linear(10, 10).to(dev0)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5).to(dev1)

    def forward(self, x):
        x = self.relu(self.net1(x.to(dev0)))
        return self.net2(x.to(dev1))


model = ToyModel()
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
optimizer.zero_grad()
outputs = model(torch.randn(20, 10))
labels = torch.randn(20, 5).to(dev1)
loss_fn(outputs, labels).backward()
optimizer.step()
print("stepped")
