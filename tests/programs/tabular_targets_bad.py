import os, gc, random, math, warnings
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class CFG:
    seed = 42
    n_folds = 2
    epochs = 2
    bs = 16
    lr = 1e-3
    num_features = 6
    cat_sizes = [4, 3]
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')


def seed_everything(seed):
    random.seed(seed)
    os.environ['PYTHONHASHSEED'] = str(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class TabDataset(Dataset):
    def __init__(self, num, cat, y=None):
        self.num, self.cat, self.y = num, cat, y

    def __len__(self):
        return len(self.num)

    def __getitem__(self, i):
        item = {'num': torch.tensor(self.num[i], dtype=torch.float), 'cat': torch.tensor(self.cat[i], dtype=torch.long)}
        if self.y is not None:
            item['y'] = torch.tensor(self.y[i], dtype=torch.float)
        return item


class TabModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embs = nn.ModuleList([nn.Embedding(n, 2) for n in cfg.cat_sizes])
        self.bn = nn.BatchNorm1d(cfg.num_features)
        self.net = nn.Sequential(nn.Linear(cfg.num_features + 2 * len(cfg.cat_sizes), 16), nn.PReLU(), nn.Dropout(0.1), nn.Linear(16, 1))

    def forward(self, num, cat):
        es = [e(cat[:, i]) for i, e in enumerate(self.embs)]
        return self.net(torch.cat([self.bn(num)] + es, 1)).squeeze(1)


class SmoothBCE(nn.Module):
    def __init__(self, smoothing=0.05, pos_weight=None):
        super().__init__()
        self.smoothing = smoothing
        self.bce = nn.BCEWithLogitsLoss(pos_weight=pos_weight)

    def forward(self, logits, y):
        with torch.no_grad():
            y = y * (1 - self.smoothing) + 0.5 * self.smoothing
        return self.bce(logits, y)  # FAIL


def train_fn(model, optimizer, scheduler, loss_fn, loader, device):
    model.train()
    final = 0
    for data in loader:
        optimizer.zero_grad()
        num, cat, y = data['num'].to(device), data['cat'].to(device), data['y']  # CAUSE
        loss = loss_fn(model(num, cat), y)  # CALL
        loss.backward()
        optimizer.step()
        scheduler.step()
        final += loss.item()
    return final / len(loader)


def valid_fn(model, loss_fn, loader, device):
    model.eval()
    final, preds = 0, []
    for data in loader:
        num, cat, y = data['num'].to(device), data['cat'].to(device), data['y'].to(device)
        with torch.no_grad():
            out = model(num, cat)
        final += loss_fn(out, y).item()
        preds.append(out.sigmoid().detach().cpu().numpy())
    return final / len(loader), np.concatenate(preds)


def inference_fn(model, loader, device):
    model.eval()
    preds = []
    for data in loader:
        with torch.no_grad():
            out = model(data['num'].to(device), data['cat'].to(device))
        preds.append(out.sigmoid().cpu().numpy())
    return np.concatenate(preds)


def run_fold(fold, folds, num, cat, y, test):
    trn, val = np.where(folds != fold)[0], np.where(folds == fold)[0]
    trn_loader = DataLoader(TabDataset(num[trn], cat[trn], y[trn]), batch_size=CFG.bs, shuffle=True)
    val_loader = DataLoader(TabDataset(num[val], cat[val], y[val]), batch_size=CFG.bs)
    test_loader = DataLoader(TabDataset(*test), batch_size=CFG.bs)
    model = TabModel(CFG)
    model.to(CFG.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=CFG.lr)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, epochs=CFG.epochs, steps_per_epoch=len(trn_loader))
    pw = torch.tensor([(1 - y[trn].mean()) / y[trn].mean()])
    loss_fn = SmoothBCE(pos_weight=pw).to(CFG.device)
    best, oof, path = math.inf, None, f'fold{fold}.pth'
    for epoch in range(CFG.epochs):
        tl = train_fn(model, optimizer, scheduler, loss_fn, trn_loader, CFG.device)
        vl, p = valid_fn(model, loss_fn, val_loader, CFG.device)
        if vl < best:
            best, oof = vl, p
            torch.save(model.state_dict(), path)
    model = TabModel(CFG)
    model.load_state_dict(torch.load(path))
    model.to(CFG.device)
    predictions = inference_fn(model, test_loader, CFG.device)
    os.remove(path)
    del model
    gc.collect()
    return val, oof, predictions


if __name__ == '__main__':
    warnings.filterwarnings('ignore')
    seed_everything(CFG.seed)
    num = np.random.randn(48, 6)
    cat = np.stack([np.random.randint(0, n, 48) for n in CFG.cat_sizes], 1)
    y = (num[:, 0] + cat[:, 0] > 1).astype(np.float32)
    folds = np.arange(48) % CFG.n_folds
    oof, sub = np.zeros(48), np.zeros(8)
    for f in range(CFG.n_folds):
        val, o, p = run_fold(f, folds, num, cat, y, (num[:8], cat[:8]))
        oof[val] = o
        sub += p / CFG.n_folds
    print(oof.shape, bool((sub <= 1).all()))
