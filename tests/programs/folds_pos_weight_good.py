# %% [markdown]
# # Tabular playground: entity embeddings, 3 folds, mean of folds
# %%
import gc
import random
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

class CFG:
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    seed = 42
    n_fold = 3
    epochs = 1
    bs = 16
    cat_dims = [(5, 3), (7, 4)]
    n_num = 6

def seed_everything(seed):
    random.seed(seed); np.random.seed(seed); torch.manual_seed(seed)
    torch.cuda.manual_seed(seed)
seed_everything(CFG.seed)
# %%
N = 90
cats = np.stack([np.random.randint(0, c, N) for c, _ in CFG.cat_dims], 1)
nums = np.random.randn(N, CFG.n_num).astype(np.float32)
target = (nums[:, 0] + cats[:, 0] > 2).astype(np.float32)
test_c, test_n = cats[:20], nums[:20]
# %%
class TabDataset(Dataset):
    def __init__(self, c, n, y=None):
        self.c, self.n, self.y = c, n, y
    def __len__(self):
        return len(self.c)
    def __getitem__(self, i):
        d = {'cat': torch.tensor(self.c[i], dtype=torch.long), 'num': torch.tensor(self.n[i])}
        if self.y is not None:
            d['y'] = torch.tensor(self.y[i])
        return d

class TabNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embs = nn.ModuleList([nn.Embedding(c, d) for c, d in cfg.cat_dims])
        total = sum(d for _, d in cfg.cat_dims)
        self.bn = nn.BatchNorm1d(cfg.n_num)
        self.mlp = nn.Sequential(nn.Linear(total + cfg.n_num, 32), nn.PReLU(), nn.Dropout(.2), nn.Linear(32, 1))
    def forward(self, cat, num):
        e = [emb(cat[:, i]) for i, emb in enumerate(self.embs)]
        return self.mlp(torch.cat(e + [self.bn(num)], 1)).squeeze(-1)

class SmoothBCE(nn.Module):
    def __init__(self, smoothing=.05, pos_weight=None):
        super().__init__()
        self.smoothing, self.pos_weight = smoothing, pos_weight
    def forward(self, logit, y):
        y = y * (1 - self.smoothing) + 0.5 * self.smoothing
        return nn.functional.binary_cross_entropy_with_logits(logit, y, pos_weight=self.pos_weight)
# %%
def train_fn(loader, model, opt, sched, loss_fn):
    model.train()
    total = 0
    for b in loader:
        out = model(b['cat'].to(CFG.device), b['num'].to(CFG.device))
        loss = loss_fn(out, b['y'].to(CFG.device))
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        total += loss.item()
    return total / len(loader)

def infer_fn(loader, model):
    model.eval()
    preds = []
    for b in loader:
        with torch.no_grad():
            preds.append(model(b['cat'].to(CFG.device), b['num'].to(CFG.device)).sigmoid().cpu().numpy())
    return np.concatenate(preds)
# %%
oof = np.zeros(N)
test_pred = np.zeros(len(test_c))
folds = np.random.permutation(N) % CFG.n_fold
for fold in range(CFG.n_fold):
    tr, va = np.where(folds != fold)[0], np.where(folds == fold)[0]
    tl = DataLoader(TabDataset(cats[tr], nums[tr], target[tr]), batch_size=CFG.bs, shuffle=True)
    vl = DataLoader(TabDataset(cats[va], nums[va], target[va]), batch_size=CFG.bs)
    model = TabNet(CFG)
    model.to(CFG.device)
    pw = torch.tensor([(target[tr] == 0).sum() / max(1, (target[tr] == 1).sum())], dtype=torch.float32, device=CFG.device)
    loss_fn = SmoothBCE(pos_weight=pw)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 1e-2, total_steps=CFG.epochs * len(tl))
    for epoch in range(CFG.epochs):
        print(f'FOLD {fold} EPOCH {epoch} {train_fn(tl, model, opt, sched, loss_fn):.4f}')
    oof[va] = infer_fn(vl, model)
    test_pred += infer_fn(DataLoader(TabDataset(test_c, test_n), batch_size=CFG.bs), model) / CFG.n_fold
    del model, opt; gc.collect(); torch.cuda.empty_cache()
print('acc', ((oof > .5) == target).mean(), test_pred[:3])
