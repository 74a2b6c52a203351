"""LoRA adapters are put into a frozen network."""
import torch
import torch.nn as nn


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r: int = 2, alpha: float = 4.0):
        super().__init__()
        self.base = base
        self.scale = alpha / r
        self.lora_a = nn.Parameter(torch.randn(r, base.in_features) * 0.02)  # CAUSE
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, r))  # CAUSE

    def forward(self, x):
        delta = x @ self.lora_a.t() @ self.lora_b.t()  # FAIL
        return self.base(x) + self.scale * delta


def inject(module, r):
    """Replaces every nn.Linear below `module`."""
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, LoRALinear(child, r))  # CAUSE
        else:
            inject(child, r)


class Classifier(nn.Module):
    def __init__(self, vocab, d, n_out):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, d)
        self.body = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU())
        self.head = nn.Linear(d, n_out)

    def forward(self, ids):
        return self.head(self.body(self.emb(ids)))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Classifier(30, 8, 3).to(device)
    for p in model.parameters():
        p.requires_grad = False

    inject(model, r=2)
    trainable = [p for p in model.parameters() if p.requires_grad]
    print("trainable:", sum(p.numel() for p in trainable))
    opt = torch.optim.AdamW(trainable, lr=1e-2)

    ids = torch.randint(0, 30, (16, 5), device=device)
    labels = torch.randint(0, 3, (16,), device=device)
    for step in range(3):
        loss = nn.functional.cross_entropy(model(ids), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(step, f"{loss.item():.4f}")


if __name__ == "__main__":
    main()
