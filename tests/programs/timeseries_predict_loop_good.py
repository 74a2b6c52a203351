import numpy as np
import torch
import torch.nn as nn


def create_inout_sequences(data, tw):
    return [(data[i : i + tw], data[i + tw : i + tw + 1]) for i in range(len(data) - tw)]


class LSTM(nn.Module):
    def __init__(self, input_size=1, hidden_layer_size=6, output_size=1, device="cpu"):
        super().__init__()
        self.hidden_layer_size = hidden_layer_size
        self.lstm = nn.LSTM(input_size, hidden_layer_size)
        self.linear = nn.Linear(hidden_layer_size, output_size)
        self.device = device
        self.reset()

    def reset(self):
        self.hidden_cell = (torch.zeros(1, 1, self.hidden_layer_size).to(self.device), torch.zeros(1, 1, self.hidden_layer_size).to(self.device))

    def forward(self, seq):
        out, self.hidden_cell = self.lstm(seq.view(len(seq), 1, -1), self.hidden_cell)
        return self.linear(out.view(len(seq), -1))[-1]


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
series = torch.FloatTensor(np.sin(np.arange(20) / 3.0)).view(-1)
train_inout_seq = create_inout_sequences(series, 5)
model = LSTM(device=device).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
for i in range(1):
    for seq, labels in train_inout_seq[:3]:
        optimizer.zero_grad()
        model.reset()
        loss = nn.functional.mse_loss(model(seq.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
fut = series[-5:].tolist()
model.eval()
for i in range(2):
    seq = torch.FloatTensor(fut[-5:]).to(device)
    with torch.no_grad():
        model.reset()
        fut.append(model(seq).item())
