"""The encoder and the decoder live on different devices, and the activations travel."""
import torch
from torch import nn

n = torch.cuda.device_count()
enc_dev = torch.device("cuda:0" if n > 0 else "cpu")
dec_dev = torch.device("cuda:1" if n > 1 else enc_dev)


class Split(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.GRU(6, 8, batch_first=True).to(enc_dev)
        self.bridge = nn.Linear(8, 8).to(dec_dev)
        self.decoder = nn.GRU(8, 8, batch_first=True).to(dec_dev)
        self.head = nn.Linear(8, 6).to(dec_dev)

    def forward(self, x):
        _, h = self.encoder(x.to(enc_dev))
        h = self.bridge(h.to(dec_dev))
        steps = torch.zeros(x.size(0), x.size(1), 8, device=dec_dev)
        out, _ = self.decoder(steps, h)
        return self.head(out)


torch.manual_seed(0)
net = Split()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
mse = nn.MSELoss()
for i in range(3):
    x = torch.randn(4, 5, 6)
    out = net(x)
    loss = mse(out, x.to(out.device))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
