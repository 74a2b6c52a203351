"""Speaker-like GRU cell loop: the hidden state is set up inside forward."""
import torch
import torch.nn as nn


class StepwiseGRU(nn.Module):
    """Unrolls a GRUCell by hand, with dropout on the state and an attention over the past."""

    def __init__(self, input_size, hidden_size, p=0.1):
        super(StepwiseGRU, self).__init__()
        self.hidden_size = hidden_size
        self.cell = nn.GRUCell(input_size, hidden_size)
        self.attn = nn.Linear(hidden_size, 1)
        self.drop = nn.Dropout(p)

    def forward(self, x):
        # x: (batch, time, features)
        h = torch.zeros(x.size(0), self.hidden_size).to(x.device)
        states = []
        for t in range(x.size(1)):
            h = self.cell(x[:, t], self.drop(h))
            states.append(h)
        states = torch.stack(states, dim=1)
        w = torch.softmax(self.attn(states), dim=1)
        return (w * states).sum(dim=1)


class SpeakerNet(nn.Module):
    def __init__(self, n_mels=6, n_speakers=4):
        super(SpeakerNet, self).__init__()
        self.rnn = StepwiseGRU(n_mels, 12)
        self.emb = nn.Linear(12, 8)
        self.cls = nn.Linear(8, n_speakers)

    def forward(self, mel):
        e = nn.functional.normalize(self.emb(self.rnn(mel)), dim=-1)
        return self.cls(e), e


if __name__ == '__main__':
    torch.manual_seed(0)
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    net = SpeakerNet().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for it in range(3):
        who = torch.randint(0, 4, (6,))
        mel = torch.randn(6, 9, 6) + who[:, None, None]
        mel, who = mel.to(device), who.to(device)
        logits, emb = net(mel)
        loss = nn.functional.cross_entropy(logits, who)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(it, '%.4f' % loss.item(), tuple(emb.shape))
