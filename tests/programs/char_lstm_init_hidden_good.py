"""Character-level LSTM that learns a nursery rhyme."""
import torch
import torch.nn as nn

TEXT = "twinkle twinkle little star how i wonder what you are " * 4
chars = sorted(set(TEXT))
stoi = {c: i for i, c in enumerate(chars)}
itos = {i: c for c, i in stoi.items()}

SEQ_LEN, BATCH, HIDDEN, LAYERS = 12, 4, 24, 2


class CharRNN(nn.Module):
    def __init__(self, n_chars, n_hidden=HIDDEN, n_layers=LAYERS):
        super().__init__()
        self.n_hidden = n_hidden
        self.n_layers = n_layers
        self.emb = nn.Embedding(n_chars, 8)
        self.lstm = nn.LSTM(8, n_hidden, n_layers, batch_first=True)
        self.fc = nn.Linear(n_hidden, n_chars)

    def forward(self, x, hidden):
        out, hidden = self.lstm(self.emb(x), hidden)
        return self.fc(out), hidden

    def init_hidden(self, batch_size):
        h = torch.zeros(self.n_layers, batch_size, self.n_hidden, device=self.fc.weight.device)
        c = torch.zeros(self.n_layers, batch_size, self.n_hidden, device=self.fc.weight.device)
        return h, c


def batches(encoded):
    n = (len(encoded) - 1) // (SEQ_LEN * BATCH)
    for k in range(n):
        at = k * SEQ_LEN * BATCH
        x = encoded[at:at + SEQ_LEN * BATCH].view(BATCH, SEQ_LEN)
        y = encoded[at + 1:at + 1 + SEQ_LEN * BATCH].view(BATCH, SEQ_LEN)
        yield x, y


def train(net, encoded, device, epochs=2):
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        hidden = net.init_hidden(BATCH)
        for x, y in batches(encoded):
            x, y = x.to(device), y.to(device)
            hidden = tuple(h.detach() for h in hidden)
            logits, hidden = net(x, hidden)
            loss = loss_fn(logits.reshape(-1, len(chars)), y.reshape(-1))
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 5)
            opt.step()
        print(f"epoch {epoch + 1}: {loss.item():.3f}")


@torch.no_grad()
def babble(net, device, start="t", n=20):
    hidden = net.init_hidden(1)
    x = torch.tensor([[stoi[start]]], device=device)
    out = start
    for _ in range(n):
        logits, hidden = net(x, hidden)
        x = torch.multinomial(logits[:, -1].softmax(-1), 1)
        out += itos[x.item()]
    return out


if __name__ == "__main__":
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = torch.tensor([stoi[c] for c in TEXT])
    rnn = CharRNN(len(chars)).to(dev)
    train(rnn, data, dev)
    print(babble(rnn, dev))
