"""An old script that asks `torch.cuda.is_available()` at every corner."""
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(1111)
if torch.cuda.is_available():
    torch.cuda.manual_seed(1111)
    gpu_name = torch.cuda.get_device_name(0)
else:
    gpu_name = "none"
print("GPU:", gpu_name)


def maybe_cuda(t):
    return t.cuda() if torch.cuda.is_available() else t


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid):
        super(RNNModel, self).__init__()
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid)
        self.decoder = nn.Linear(nhid, ntoken)
        self.nhid = nhid

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.encoder(input), hidden)
        return self.decoder(output), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return weight.new_zeros(1, bsz, self.nhid), weight.new_zeros(1, bsz, self.nhid)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    data = data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()
    if torch.cuda.is_available():
        data = data.cuda()
    return data


corpus = torch.randint(0, 12, (130,))
train_data = batchify(corpus, 4)
model = maybe_cuda(RNNModel(12, 6, 8))
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.parameters(), lr=1.0)
hidden = model.init_hidden(4)
for i in range(0, train_data.size(0) - 1, 8):
    n = min(8, len(train_data) - 1 - i)
    data, targets = train_data[i:i + n], train_data[i + 1:i + 1 + n].view(-1)
    hidden = repackage_hidden(hidden)
    output, hidden = model(data, hidden)
    loss = criterion(output.view(-1, 12), targets)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    optimizer.step()
    print(i, loss.item())

seed = torch.rand(1, 1).mul(12).long()
if torch.cuda.is_available():
    seed = seed.cuda()
    hidden = tuple(h[:, :1].contiguous().cuda() for h in hidden)
else:
    hidden = tuple(h[:, :1].contiguous() for h in hidden)
print(model(seed, hidden)[0].argmax(-1).item())
