import torch
from torch import nn, optim


def batches(data, batch_len, dev):
    n = data.numel() // 4
    data = data[: n * 4].view(4, n).t()
    for i in range(0, n - 1, batch_len):
        k = min(batch_len, n - 1 - i)
        yield data[i : i + k].to(dev), data[i + 1 : i + 1 + k].reshape(-1).to(dev)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.RNN(ninp, ninp)
        self.decoder = nn.Linear(ninp, ntoken)
        self.decoder.weight = self.encoder.weight

    def forward(self, x):
        out, _ = self.rnn(self.encoder(x))
        return self.decoder(out).flatten(0, 1)


dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = RNNModel(11, 6).to(dev)
opt = optim.SGD(model.parameters(), lr=0.5)
lossf = nn.CrossEntropyLoss()
corpus = torch.randint(0, 11, (50,))
for src, tgt in batches(corpus, 5, dev):
    opt.zero_grad()
    loss = lossf(model(src), tgt)
    loss.backward()
    opt.step()
print("ppl")
