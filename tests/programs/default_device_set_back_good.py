import torch

if torch.cuda.is_available():
    torch.set_default_device("cuda")


class Toy(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.pos = torch.arange(n)          # default device
        self.emb = torch.nn.Embedding(n, 6)
        self.lin = torch.nn.Linear(6, 6)

    def forward(self, x):
        return self.lin(x + self.emb(self.pos))


toy = Toy(4)
x = torch.rand(2, 4, 6)
eye = torch.eye(6)
print((toy(x) @ eye).shape)
torch.set_default_device("cpu")
host = torch.zeros(3) + torch.ones(3)
print(host.sum().item())
