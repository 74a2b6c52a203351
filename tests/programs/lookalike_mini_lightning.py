"""A home-made training framework: the Trainer moves the batches, the module's steps only use them."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Module(nn.Module):
    @property
    def device(self):
        return next(self.parameters()).device

    def training_step(self, batch, batch_idx):
        raise NotImplementedError

    def validation_step(self, batch, batch_idx):
        pass

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


def move(obj, device):
    if torch.is_tensor(obj):
        return obj.to(device)
    if isinstance(obj, dict):
        return {k: move(v, device) for k, v in obj.items()}
    if isinstance(obj, (list, tuple)):
        return type(obj)(move(v, device) for v in obj)
    return obj


class Trainer:
    def __init__(self, max_epochs=1, accelerator="auto"):
        self.max_epochs = max_epochs
        if accelerator == "auto":
            accelerator = "cuda" if torch.cuda.is_available() else "cpu"
        self.device = torch.device(accelerator)

    def fit(self, module, train_loader, val_loader=None):
        module.to(self.device)
        opt = module.configure_optimizers()
        for epoch in range(self.max_epochs):
            module.train()
            for i, batch in enumerate(train_loader):
                loss = module.training_step(move(batch, self.device), i)
                opt.zero_grad()
                loss.backward()
                opt.step()
            if val_loader is not None:
                module.eval()
                with torch.no_grad():
                    outs = [module.validation_step(move(b, self.device), i) for i, b in enumerate(val_loader)]
                print(f"epoch {epoch} val {torch.stack(outs).mean().item():.3f}")


class Regressor(Module):
    def __init__(self, n):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n, 16), nn.ReLU(), nn.Linear(16, 1))
        self.loss = nn.MSELoss()

    def forward(self, x):
        return self.net(x).squeeze(-1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        noise = 0.01 * torch.randn(x.shape, device=self.device)
        return self.loss(self(x + noise), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        return self.loss(self(x), y)


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(50, 3)
    ds = TensorDataset(x, x.sum(1))
    Trainer(max_epochs=2).fit(Regressor(3), DataLoader(ds, 10, shuffle=True), DataLoader(ds, 25))
