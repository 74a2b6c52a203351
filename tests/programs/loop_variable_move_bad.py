"""Multi-input model: a batch is a list of tensors."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH = 10
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Sequential(nn.Linear(6, 12), nn.ReLU())
        self.doc = nn.Sequential(nn.Linear(9, 12), nn.ReLU())
        self.score = nn.Linear(24, 1)

    def forward(self, q, d):
        both = torch.cat([self.query(q), self.doc(d)], dim=1)  # FAIL
        return self.score(both).squeeze(1)


def make_data(n):
    q, d = torch.randn(n, 6), torch.randn(n, 9)
    clicked = ((q[:, 0] * d[:, 0]) > 0).float()
    return TensorDataset(q, d, clicked)


def main():
    torch.manual_seed(0)
    loader = DataLoader(make_data(50), batch_size=BATCH, shuffle=True)
    model = TwoTower().to(device)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        for step, batch in enumerate(loader):
            for t in batch:  # CAUSE
                t = t.to(device)
            q, d, y = batch
            loss = criterion(model(q, d), y)  # CALL
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f'epoch {epoch}: {loss.item():.4f}')


if __name__ == '__main__':
    main()
