import torch
from torch import nn

START, STOP = -2, -1


class CRF(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.trans = nn.Parameter(torch.randn(n + 2, n + 2) * 0.1)
        self.n = n
        self.block = torch.zeros(n + 2, n + 2)  # CAUSE
        self.block[:, START] = -1e4
        self.block[STOP, :] = -1e4

    @property
    def t(self):
        return self.trans + self.block  # FAIL

    def partition(self, emit, mask):
        t = self.t
        alpha = t[START, : self.n] + emit[:, 0]
        for i in range(1, emit.size(1)):
            nxt = torch.logsumexp(alpha[:, :, None] + t[: self.n, : self.n] + emit[:, i, None], 1)
            alpha = torch.where(mask[:, i, None], nxt, alpha)
        return torch.logsumexp(alpha + t[: self.n, STOP], 1)

    def score(self, emit, tags, mask):
        t = self.t
        b = torch.arange(len(tags), device=tags.device)
        s = t[START, tags[:, 0]] + emit[b, 0, tags[:, 0]]
        for i in range(1, tags.size(1)):
            step = t[tags[:, i - 1], tags[:, i]] + emit[b, i, tags[:, i]]
            s = s + step * mask[:, i]
        last = mask.sum(1) - 1
        return s + t[tags[b, last], STOP]

    @torch.no_grad()
    def decode(self, emit, mask):
        out = []
        t = self.t.cpu()
        for e, n in zip(emit.cpu(), mask.sum(1).tolist()):
            v, back = t[START, : self.n] + e[0], []
            for i in range(1, n):
                m = v[:, None] + t[: self.n, : self.n]
                best, arg = m.max(0)
                v = best + e[i]
                back.append(arg)
            tag = (v + t[: self.n, STOP]).argmax().item()
            path = [tag]
            for arg in reversed(back):
                path.append(arg[path[-1]].item())
            out.append(path[::-1])
        return out


class Tagger(nn.Module):
    def __init__(self, vocab, tags, d=10):
        super().__init__()
        self.emb = nn.Embedding(vocab, d, padding_idx=0)
        self.rnn = nn.LSTM(d, d, bidirectional=True, batch_first=True)
        self.lin = nn.Linear(2 * d, tags)
        self.crf = CRF(tags)

    def emit(self, ids):
        n = ids.ne(0).sum(1).cpu()
        p = nn.utils.rnn.pack_padded_sequence(self.emb(ids), n, batch_first=True, enforce_sorted=False)
        return self.lin(nn.utils.rnn.pad_packed_sequence(self.rnn(p)[0], batch_first=True)[0])

    def loss(self, ids, tags):
        e, mask = self.emit(ids), ids.ne(0)
        return (self.crf.partition(e, mask) - self.crf.score(e, tags, mask)).mean()


def pad(seqs):
    return nn.utils.rnn.pad_sequence([torch.tensor(s) for s in seqs], batch_first=True)


device = "cuda" if torch.cuda.is_available() else "cpu"
words, tags = pad([[1, 2, 3, 4], [5, 2], [1, 4, 5]]), pad([[0, 1, 2, 0], [2, 1], [0, 0, 2]])
net = Tagger(6, 3).to(device)
opt = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(4):
    loss = net.loss(words.to(device), tags.to(device))
    opt.zero_grad()
    loss.backward()
    opt.step()
ids = words.to(device)
print(loss.item(), net.crf.decode(net.emit(ids), ids != 0))
