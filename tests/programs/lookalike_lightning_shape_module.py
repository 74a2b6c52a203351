"""A module that trains itself, with a trainer that moves the batches."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainable(nn.Module):
    device_ = torch.device("cpu")

    @property
    def device(self):
        return self.device_

    def _apply(self, fn, *args, **kwargs):
        super()._apply(fn, *args, **kwargs)
        self.device_ = fn(torch.zeros(1)).device
        return self

    def transfer(self, batch):
        return [t.to(self.device) for t in batch]


class AutoEncoder(Trainable):
    def __init__(self, dim=6, latent=2):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(dim, latent), nn.Linear(latent, dim)
        self.latent = latent
        self.outputs = []

    def training_step(self, batch, index):
        (x,) = batch
        noise = torch.randn(len(x), self.latent, device=self.device)
        return (self.decoder(self.encoder(x) + 0.1 * noise) - x).pow(2).mean()

    def validation_step(self, batch, index):
        (x,) = batch
        self.outputs.append(self.encoder(x).cpu())

    def on_validation_end(self):
        z = torch.cat(self.outputs)
        self.outputs.clear()
        cov = (z - z.mean(0)).T @ (z - z.mean(0)) / len(z)
        return torch.linalg.eigvalsh(cov + 1e-3 * torch.eye(self.latent))

    def configure(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


class Trainer:
    def __init__(self, accelerator="auto", epochs=2):
        if accelerator == "auto":
            accelerator = "cuda" if torch.cuda.is_available() else "cpu"
        self.root = torch.device(accelerator)
        self.epochs = epochs

    def fit(self, module, train, valid):
        module.to(self.root)
        optimizer = module.configure()
        for _ in range(self.epochs):
            module.train()
            for i, batch in enumerate(train):
                optimizer.zero_grad()
                loss = module.training_step(module.transfer(batch), i)
                loss.backward()
                optimizer.step()
            module.eval()
            with torch.no_grad():
                for i, batch in enumerate(valid):
                    module.validation_step(module.transfer(batch), i)
            print(loss.item(), module.on_validation_end())
        module.cpu()


module = AutoEncoder()
Trainer().fit(module, DataLoader(TensorDataset(torch.randn(32, 6)), 8, shuffle=True), DataLoader(TensorDataset(torch.randn(10, 6)), 5))
print(module.encoder(torch.randn(1, 6)), module.device)
