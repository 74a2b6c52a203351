"""Forecast a noisy sine with an LSTM whose hidden state is carried from window to window."""

import numpy as np
import torch
from torch import nn

WINDOW = 20
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Forecaster(nn.Module):
    def __init__(self, hidden=16, layers=2):
        super().__init__()
        self.hidden = hidden
        self.layers = layers
        self.lstm = nn.LSTM(input_size=1, hidden_size=hidden, num_layers=layers, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def init_state(self, batch):
        h0 = torch.zeros(self.layers, batch, self.hidden).to(DEVICE)
        c0 = torch.zeros(self.layers, batch, self.hidden).to(DEVICE)
        return h0, c0

    def forward(self, x, state=None):
        if state is None:
            state = self.init_state(x.size(0))
        out, state = self.lstm(x, state)
        return self.head(out[:, -1]), state


def windows(series):
    xs = np.stack([series[i : i + WINDOW] for i in range(len(series) - WINDOW)])
    ys = series[WINDOW:]
    return torch.from_numpy(xs).float().unsqueeze(-1), torch.from_numpy(ys).float().unsqueeze(-1)


rng = np.random.default_rng(0)
torch.manual_seed(0)
series = np.sin(np.arange(160) / 5.0) + 0.05 * rng.standard_normal(160)
x, y = windows(series)
x_train, y_train = x[:100].to(DEVICE), y[:100].to(DEVICE)
x_test, y_test = x[100:], y[100:]

net = Forecaster()
net = net.to(DEVICE)
opt = torch.optim.Adam(net.parameters(), lr=0.02)
for epoch in range(8):
    opt.zero_grad()
    pred, _ = net(x_train)
    loss = nn.functional.mse_loss(pred, y_train)
    loss.backward()
    opt.step()
print("trained", loss.item() < 1.0)

net.eval()
forecast = []
with torch.no_grad():
    state = net.init_state(1)
    for row in x_test[:10]:
        value, state = net(row.unsqueeze(0).to(DEVICE), state)
        forecast.append(value.squeeze().cpu().numpy())
    everything = net(x_test.to(DEVICE))[0].cpu().numpy()
error = np.abs(everything - y_test.numpy()).mean()
print(len(forecast), everything.shape, bool(error < 2))
