import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_default_device():
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("cpu")


def to_device(data, device):
    if isinstance(data, (list, tuple)):
        return [to_device(x, device) for x in data]
    return data.to(device, non_blocking=True)


class DeviceDataLoader:
    def __init__(self, dl, device):
        self.dl = dl
        self.device = device

    def __iter__(self):
        for b in self.dl:
            yield to_device(b, self.device)

    def __len__(self):
        return len(self.dl)


class Base(nn.Module):
    def training_step(self, batch):
        images, labels = batch
        return nn.functional.cross_entropy(self(images), labels)

    def validation_step(self, batch):
        images, labels = batch
        out = self(images)
        acc = torch.tensor(torch.sum(out.argmax(1) == labels).item() / len(out))
        return {"val_loss": nn.functional.cross_entropy(out, labels).detach(), "val_acc": acc}

    def validation_epoch_end(self, outputs):
        losses = torch.stack([x["val_loss"] for x in outputs]).mean()
        accs = torch.stack([x["val_acc"] for x in outputs]).mean()
        return {"val_loss": losses.item(), "val_acc": accs.item()}


class Model(Base):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(12, 3))

    def forward(self, xb):
        return self.net(xb)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    return model.validation_epoch_end([model.validation_step(b) for b in loader])


device = get_default_device()
ds = TensorDataset(torch.rand(12, 3, 2, 2), torch.randint(0, 3, (12,)))
train_dl = DeviceDataLoader(DataLoader(ds, 4, shuffle=True), device)
val_dl = DeviceDataLoader(DataLoader(ds, 6), device)
model = to_device(Model(), device)
opt = torch.optim.SGD(model.parameters(), 0.1)
for batch in train_dl:
    loss = model.training_step(batch)
    loss.backward()
    opt.step()
    opt.zero_grad()
print(sorted(evaluate(model, val_dl)))
