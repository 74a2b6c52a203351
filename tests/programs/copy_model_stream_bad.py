"""A language model with tied embedding and a copy distribution, built step by step in a notebook-like script."""
import torch
import torch.nn as nn
import torch.nn.functional as F

# --- configuration -------------------------------------------------------
cfg = dict(vocab=25, dim=12, layers=1, steps=3)
use_gpu = torch.cuda.is_available()
device = torch.device("cuda:0" if use_gpu else "cpu")


# --- model ---------------------------------------------------------------
class CopyLM(nn.Module):
    def __init__(self, vocab, dim, layers, **_):
        super().__init__()
        self.vocab = vocab
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, dim, layers, batch_first=True)
        self.head = nn.Linear(dim, vocab)
        self.head.weight = self.embed.weight
        self.gate = nn.Linear(dim, 1)
        unk = torch.zeros(vocab)
        unk[0] = -10.0
        self.register_buffer("penalty", unk, persistent=False)

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))
        gen = (self.head(h) + self.penalty).softmax(-1)
        att = (h @ h.transpose(1, 2)).tril().softmax(-1)
        onehot = F.one_hot(ids, self.vocab).to(h.dtype)
        g = self.gate(h).sigmoid()
        return (g * gen + (1 - g) * (att @ onehot)).clamp_min(1e-6).log()


# --- data ----------------------------------------------------------------
stream = torch.arange(200) * 7 % cfg["vocab"]


def get_batch(n=4, t=6):
    starts = torch.randint(len(stream) - t - 1, (n,))
    x = torch.stack([stream[s:s + t] for s in starts])
    y = torch.stack([stream[s + 1:s + t + 1] for s in starts])
    if use_gpu:
        x, y = x.pin_memory().to(device, non_blocking=True), y.pin_memory()  # CAUSE
    return x, y


# --- training ------------------------------------------------------------
lm = CopyLM(**cfg)
lm.to(device)
optimizer = torch.optim.Adam(lm.parameters(), lr=3e-3)
for step in range(cfg["steps"]):
    xb, yb = get_batch()
    logp = lm(xb)
    loss = F.nll_loss(logp.view(-1, cfg["vocab"]), yb.view(-1))  # FAIL
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
print(lm.head.weight is lm.embed.weight, loss.item())
