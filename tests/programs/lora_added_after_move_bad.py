import torch
from torch import nn


class LoRA(nn.Module):
    def __init__(self, layer, r=2):
        super().__init__()
        self.layer = layer
        self.down = nn.Linear(layer.in_features, r, bias=False)
        self.up = nn.Linear(r, layer.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.layer(x) + self.up(self.down(x))  # FAIL


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.fc1 = nn.Linear(d, 2 * d)
        self.fc2 = nn.Linear(2 * d, d)

    def forward(self, x):
        return x + self.fc2(self.fc1(self.norm(x)).relu())  # CALL


class Encoder(nn.Module):
    def __init__(self, v, d, n):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.blocks = nn.ModuleList([Block(d) for _ in range(n)])
        self.head = nn.Linear(d, v)

    def forward(self, x):
        x = self.emb(x)
        for b in self.blocks:
            x = b(x)  # CALL
        return self.head(x)


def add_lora(model, r):
    for p in model.parameters():
        p.requires_grad = False
    for b in model.blocks:
        b.fc1 = LoRA(b.fc1, r)  # CAUSE
    return [p for p in model.parameters() if p.requires_grad]


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Encoder(10, 8, 2).to(device)
    params = add_lora(model, r=3)
    opt = torch.optim.AdamW(params, lr=1e-3)
    for _ in range(2):
        ids = torch.randint(0, 10, (4, 6), device=device)
        loss = nn.functional.cross_entropy(model(ids).transpose(1, 2), ids)  # CALL
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())


if __name__ == "__main__":
    main()
