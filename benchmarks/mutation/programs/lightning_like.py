"""A miniature of Lightning: modules with hooks, and a trainer that moves everything."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.logged = {}

    @property
    def device(self):
        return next(self.parameters()).device

    def log(self, name, value):
        self.logged.setdefault(name, []).append(value.detach().cpu())

    def training_step(self, batch, batch_idx):
        raise NotImplementedError

    def validation_step(self, batch, batch_idx):
        pass

    def configure_optimizers(self):
        raise NotImplementedError


class Trainer:
    def __init__(self, max_epochs, accelerator="auto"):
        self.max_epochs = max_epochs
        if accelerator == "auto":
            accelerator = "cuda" if torch.cuda.is_available() else "cpu"
        self.root_device = torch.device(accelerator)

    def _move(self, batch):
        if isinstance(batch, torch.Tensor):
            return batch.to(self.root_device)
        if isinstance(batch, (list, tuple)):
            return type(batch)(self._move(b) for b in batch)
        if isinstance(batch, dict):
            return {k: self._move(b) for k, b in batch.items()}
        return batch

    def fit(self, module, train_loader, val_loader):
        module.to(self.root_device)
        optimizer = module.configure_optimizers()
        for _ in range(self.max_epochs):
            module.train()
            for i, batch in enumerate(train_loader):
                loss = module.training_step(self._move(batch), i)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            module.eval()
            with torch.no_grad():
                for i, batch in enumerate(val_loader):
                    module.validation_step(self._move(batch), i)


class LitOrdinal(LitModule):
    """Ordinal regression: one threshold per grade."""

    def __init__(self, features=6, grades=4):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 16), nn.ReLU(), nn.Linear(16, 1))
        self.cuts = nn.Parameter(torch.arange(grades - 1).float())
        self.register_buffer("grade_weight", torch.linspace(1.0, 1.5, grades - 1))
        self.loss = nn.BCEWithLogitsLoss(reduction="none")

    def forward(self, x):
        return self.body(x) - self.cuts

    def _targets(self, y):
        levels = torch.arange(self.cuts.numel(), device=self.device)
        return (y.unsqueeze(1) > levels).float()

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = (self.loss(self(x), self._targets(y)) * self.grade_weight).mean()
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        noise = torch.randn(x.shape, device=self.device) * 0.01
        grade = (self(x + noise) > 0).sum(1)
        self.log("mae", (grade - y).abs().float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


if __name__ == "__main__":
    torch.manual_seed(1)
    x = torch.randn(120, 6)
    y = (x[:, 0] + 2).clamp(0, 3.9).long()
    dataset = TensorDataset(x, y)
    trainer = Trainer(max_epochs=3)
    module = LitOrdinal()
    trainer.fit(module, DataLoader(dataset, 30, shuffle=True), DataLoader(dataset, 60))
    print({name: len(values) for name, values in module.logged.items()})
    print(tuple(torch.stack(module.logged["mae"]).numpy().shape))
