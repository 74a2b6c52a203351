"""Two halves of a network on two devices, joined in `forward`."""
import torch
import torch.nn as nn
import torch.optim as optim

if torch.cuda.device_count() >= 2:
    DEV0, DEV1 = torch.device("cuda:0"), torch.device("cuda:1")
elif torch.cuda.is_available():
    DEV0 = DEV1 = torch.device("cuda")
else:
    DEV0 = DEV1 = torch.device("cpu")


class ToyModel(nn.Module):
    def __init__(self):
        super(ToyModel, self).__init__()
        self.net1 = torch.nn.Linear(10, 10).to(DEV0)
        self.relu = torch.nn.ReLU()
        self.net2 = torch.nn.Linear(10, 5).to(DEV1)

    def forward(self, x):
        x = self.relu(self.net1(x.to(DEV0)))
        return self.net2(x.to(DEV1))


def main():
    torch.manual_seed(0)
    model = ToyModel()
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(model.parameters(), lr=0.001)
    for i in range(3):
        optimizer.zero_grad()
        outputs = model(torch.randn(20, 10))
        labels = torch.randn(20, 5).to(DEV1)
        loss = loss_fn(outputs, labels)
        loss.backward()
        optimizer.step()
        print(i, loss.item())

    # where everything lives
    for name, p in model.named_parameters():
        print(f"{name:12s} {tuple(p.shape)!s:10s} {p.numel():5d}")


if __name__ == "__main__":
    main()
