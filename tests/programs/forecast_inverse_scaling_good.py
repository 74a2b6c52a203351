import argparse
import os
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class StandardScaler:
    def fit(self, data):
        self.mean, self.std = data.mean(0), data.std(0)

    def transform(self, data):
        mean = torch.from_numpy(self.mean).type_as(data).to(data.device) if torch.is_tensor(data) else self.mean
        std = torch.from_numpy(self.std).type_as(data).to(data.device) if torch.is_tensor(data) else self.std
        return (data - mean) / std

    def inverse_transform(self, data):
        mean = torch.from_numpy(self.mean).type_as(data).to(data.device) if torch.is_tensor(data) else self.mean
        std = torch.from_numpy(self.std).type_as(data).to(data.device) if torch.is_tensor(data) else self.std
        return (data * std) + mean


class DatasetCustom(Dataset):
    def __init__(self, flag, size, scaler=None):
        self.seq_len, self.label_len, self.pred_len = size
        raw = np.cumsum(np.random.randn(60, 2), 0).astype(np.float32)
        self.scaler = scaler or StandardScaler()
        if scaler is None:
            self.scaler.fit(raw)
        self.data = self.scaler.transform(raw)[: 40 if flag == "train" else 60]

    def __getitem__(self, i):
        e = i + self.seq_len
        return self.data[i:e], self.data[e - self.label_len:e + self.pred_len]

    def __len__(self):
        return len(self.data) - self.seq_len - self.pred_len + 1


class Forecaster(nn.Module):
    def __init__(self, c, d, pred_len):
        super().__init__()
        self.enc = nn.GRU(c, d, batch_first=True)
        self.dec = nn.GRU(c, d, batch_first=True)
        self.proj = nn.Linear(d, c)
        self.pred_len = pred_len

    def forward(self, x_enc, x_dec):
        _, h = self.enc(x_enc)
        return self.proj(self.dec(x_dec, h)[0])[:, -self.pred_len:]


class Exp_Basic(object):
    def __init__(self, args):
        self.args = args
        self.device = self._acquire_device()
        self.model = self._build_model().to(self.device)

    def _build_model(self):
        raise NotImplementedError

    def _acquire_device(self):
        if self.args.use_gpu:
            os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
            device = torch.device("cuda:{}".format(self.args.gpu))
        else:
            device = torch.device("cpu")
        return device


class Exp_Main(Exp_Basic):
    def _build_model(self):
        return Forecaster(2, 8, self.args.pred_len).float()

    def _get_data(self, flag, scaler=None):
        a = self.args
        ds = DatasetCustom(flag, (a.seq_len, a.label_len, a.pred_len), scaler)
        return ds, DataLoader(ds, batch_size=8, shuffle=flag == "train", drop_last=True)

    def _process_one_batch(self, ds, batch_x, batch_y):
        batch_x = batch_x.float().to(self.device)
        batch_y = batch_y.float()
        dec_inp = torch.zeros([batch_y.shape[0], self.args.pred_len, batch_y.shape[-1]]).float()
        dec_inp = torch.cat([batch_y[:, :self.args.label_len, :], dec_inp], dim=1).float().to(self.device)
        outputs = self.model(batch_x, dec_inp)
        if self.args.inverse:
            outputs = ds.scaler.inverse_transform(outputs)
        batch_y = batch_y[:, -self.args.pred_len:, :].to(self.device)
        return outputs, batch_y

    def train(self):
        ds, loader = self._get_data("train")
        opt = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        crit = nn.MSELoss()
        for batch_x, batch_y in loader:
            opt.zero_grad()
            pred, true = self._process_one_batch(ds, batch_x, batch_y)
            loss = crit(pred, true)
            loss.backward()
            opt.step()
        return ds.scaler, loss.item()

    def test(self, scaler):
        ds, loader = self._get_data("test", scaler)
        self.model.eval()
        preds, trues = [], []
        for batch_x, batch_y in loader:
            pred, true = self._process_one_batch(ds, batch_x, batch_y)
            preds.append(pred.detach().cpu().numpy())
            trues.append(true.detach().cpu().numpy())
        return np.abs(np.concatenate(preds) - np.concatenate(trues)).mean()


parser = argparse.ArgumentParser()
parser.add_argument("--seq_len", type=int, default=8)
parser.add_argument("--label_len", type=int, default=4)
parser.add_argument("--pred_len", type=int, default=3)
parser.add_argument("--inverse", action="store_true", default=True)
parser.add_argument("--use_gpu", type=bool, default=True)
parser.add_argument("--gpu", type=int, default=0)
args = parser.parse_args([])
args.use_gpu = True if torch.cuda.is_available() and args.use_gpu else False
exp = Exp_Main(args)
scaler, loss = exp.train()
print(loss, exp.test(scaler))
