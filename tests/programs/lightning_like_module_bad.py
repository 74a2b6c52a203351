import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MiniModule(nn.Module):
    def training_step(self, batch, idx):
        raise NotImplementedError

    def configure_optimizers(self):
        raise NotImplementedError


class MiniTrainer:
    def __init__(self, max_epochs=1, accelerator="auto"):
        self.max_epochs = max_epochs
        self.device = torch.device("cuda" if accelerator == "auto" and torch.cuda.is_available() else "cpu")

    def transfer(self, batch):
        if isinstance(batch, torch.Tensor):
            return batch.to(self.device)
        if isinstance(batch, (list, tuple)):
            return [self.transfer(b) for b in batch]
        if isinstance(batch, dict):
            return {k: self.transfer(v) for k, v in batch.items()}
        return batch

    def fit(self, module, loader):
        module = module.to(self.device)
        opt = module.configure_optimizers()
        for _ in range(self.max_epochs):
            for i, batch in enumerate(loader):
                self.transfer(batch)
                opt.zero_grad()
                module.training_step(batch, i).backward()  # CALL
                opt.step()


class LitRegressor(MiniModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 1)

    def training_step(self, batch, idx):
        x, y = batch
        return nn.functional.mse_loss(self.net(x), y)  # FAIL

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(12, 3), torch.randn(12, 1))
    MiniTrainer().fit(LitRegressor(), DataLoader(ds, batch_size=4))  # CALL
    print("fit")
