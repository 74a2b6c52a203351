# coding: utf-8
# Kaggle-like kernel: BiLSTM on two embeddings, weighted loss, 2 models averaged
import os, re, gc, random
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils import data

def seed_everything(seed=1234):
    random.seed(seed)
    os.environ['PYTHONHASHSEED'] = str(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed(seed)
    torch.backends.cudnn.deterministic = True
seed_everything()

texts = ['you are nice', 'this is bad bad', 'what a day', 'bad you', 'nice nice day', 'is this what'] * 6
y_train = np.array([0, 1, 0, 1, 0, 0] * 6, dtype=np.float32)
weights = np.where(y_train > 0, 2., 1.).astype(np.float32)
vocab = {w: i + 1 for i, w in enumerate(sorted({w for t in texts for w in t.split()}))}
MAX_LEN = 5

def tokenize(t):
    ids = [vocab.get(w, 0) for w in re.findall(r'\w+', t)][:MAX_LEN]
    return ids + [0] * (MAX_LEN - len(ids))

x_train = np.array([tokenize(t) for t in texts])
embedding_matrix = np.random.normal(size=(len(vocab) + 1, 8))

class SpatialDropout(nn.Dropout2d):
    def forward(self, x):
        x = x.unsqueeze(2).permute(0, 3, 2, 1)
        x = super(SpatialDropout, self).forward(x)
        return x.permute(0, 3, 2, 1).squeeze(2)

class NeuralNet(nn.Module):
    def __init__(self, embedding_matrix, num_aux_targets=2):
        super(NeuralNet, self).__init__()
        n, d = embedding_matrix.shape
        self.embedding = nn.Embedding(n, d)
        self.embedding.weight = nn.Parameter(torch.tensor(embedding_matrix, dtype=torch.float32))
        self.embedding.weight.requires_grad = False
        self.dropout = SpatialDropout(0.3)
        self.lstm1 = nn.LSTM(d, 8, bidirectional=True, batch_first=True)
        self.lstm2 = nn.LSTM(16, 8, bidirectional=True, batch_first=True)
        self.linear = nn.Linear(32, 32)
        self.out = nn.Linear(32, 1)
        self.aux = nn.Linear(32, num_aux_targets)
    def forward(self, x):
        h = self.dropout(self.embedding(x))  # FAIL
        h, _ = self.lstm1(h)
        h, _ = self.lstm2(h)
        h = torch.cat((h.mean(1), h.max(1)[0]), 1)
        h = h + F.relu(self.linear(h))
        return torch.cat([self.out(h), self.aux(h)], 1)

def custom_loss(pred, target):
    bce = nn.BCEWithLogitsLoss(weight=target[:, 1:2])(pred[:, :1], target[:, :1])
    aux = nn.BCEWithLogitsLoss()(pred[:, 1:], target[:, 2:])
    return bce * 2 + aux

def sigmoid(x):
    return 1 / (1 + np.exp(-x))

def train_model(model, train, test, loss_fn, lr=0.01, batch_size=12, n_epochs=2):
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda e: 0.6 ** e)
    train_loader = data.DataLoader(train, batch_size=batch_size, shuffle=True)
    test_loader = data.DataLoader(test, batch_size=batch_size, shuffle=False)
    all_test_preds = []
    checkpoint_weights = [2 ** e for e in range(n_epochs)]
    for epoch in range(n_epochs):
        model.train()
        for batch in train_loader:
            x_batch, y_batch = batch[0], batch[1]
            y_pred = model(x_batch)
            loss = loss_fn(y_pred, y_batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        test_preds = np.zeros((len(test), 3))
        for i, (x_batch,) in enumerate(test_loader):
            y_pred = sigmoid(model(x_batch).detach().cpu().numpy())
            test_preds[i * batch_size:(i + 1) * batch_size] = y_pred
        all_test_preds.append(test_preds)
    return np.average(all_test_preds, weights=checkpoint_weights, axis=0)

cuda = torch.cuda.is_available()
x_t = torch.tensor(x_train, dtype=torch.long)
y_t = torch.tensor(np.column_stack([y_train, weights, y_train, 1 - y_train]), dtype=torch.float32)
x_test = torch.tensor(x_train[:10], dtype=torch.long)
if cuda:
    x_t, y_t = x_t.cuda(), y_t.cuda()
    x_test = x_test.cuda()
train_ds, test_ds = data.TensorDataset(x_t, y_t), data.TensorDataset(x_test)
all_preds = []
for model_idx in range(2):
    seed_everything(1234 + model_idx)
    model = NeuralNet(embedding_matrix)  # CAUSE
    if cuda:
        pass
    all_preds.append(train_model(model, train_ds, test_ds, custom_loss))
    gc.collect()
print(np.mean(all_preds, axis=0)[:, 0].round(3))
