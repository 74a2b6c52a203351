import torch
import torch.nn as nn


class LSTMModel(nn.Module):
    def __init__(self, vocab, embed, hidden, layers):
        super().__init__()
        self.hidden_size = hidden
        self.num_layers = layers
        self.embed = nn.Embedding(vocab, embed)
        self.lstm = nn.LSTM(embed, hidden, layers, batch_first=True)
        self.linear = nn.Linear(hidden, vocab)

    def init_hidden(self, batch_size):
        weight = next(self.parameters())
        return (
            weight.new_zeros(self.num_layers, batch_size, self.hidden_size),
            weight.new_zeros(self.num_layers, batch_size, self.hidden_size),
        )

    def forward(self, x, hidden):
        out, hidden = self.lstm(self.embed(x), hidden)
        return self.linear(out.reshape(-1, out.size(2))), hidden


def repackage(h):
    return tuple(v.detach() for v in h)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
corpus = torch.randint(0, 20, (4, 41))
model = LSTMModel(20, 8, 12, 2).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
for epoch in range(1):
    states = model.init_hidden(4)
    for i in range(0, corpus.size(1) - 10, 10):
        inputs = corpus[:, i : i + 10].to(device)
        targets = corpus[:, i + 1 : i + 11].to(device)
        states = repackage(states)
        outputs, states = model(inputs, states)
        loss = criterion(outputs, targets.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
print("finished")
