"""An encoder-decoder with additive attention that rewrites dates."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
SOS, EOS, PAD = 10, 11, 12
MAX_LENGTH = 6


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)

    def forward(self, input, hidden):
        return self.gru(self.embedding(input), hidden)

    def initHidden(self, batch):
        return torch.zeros(1, batch, self.hidden_size, device=device)


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, query, keys, mask):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys))).squeeze(2)
        scores = scores.masked_fill(mask, -1e9)
        weights = F.softmax(scores, dim=-1).unsqueeze(1)
        return torch.bmm(weights, keys), weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attention = BahdanauAttention(hidden_size)
        self.gru = nn.GRU(2 * hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, encoder_outputs, encoder_hidden, mask, target=None):
        batch_size = encoder_outputs.size(0)
        decoder_input = torch.empty(batch_size, 1, dtype=torch.long, device=device).fill_(SOS)
        decoder_hidden = encoder_hidden
        outputs = []
        for i in range(MAX_LENGTH):
            query = decoder_hidden.permute(1, 0, 2)
            context, _ = self.attention(query, encoder_outputs, mask)
            x = torch.cat((self.embedding(decoder_input), context), dim=2)
            output, decoder_hidden = self.gru(x, decoder_hidden)
            logits = self.out(output)
            outputs.append(logits)
            if target is not None:
                decoder_input = target[:, i].unsqueeze(1)
            else:
                decoder_input = logits.argmax(-1).detach()
        return torch.cat(outputs, dim=1)


def make_batch(n):
    sources, targets = [], []
    for _ in range(n):
        digits = [random.randrange(10) for _ in range(random.randint(3, MAX_LENGTH - 1))]
        sources.append(digits + [EOS] + [PAD] * (MAX_LENGTH - 1 - len(digits)))
        targets.append(digits[::-1] + [EOS] + [PAD] * (MAX_LENGTH - 1 - len(digits)))
    return torch.tensor(sources, device=device), torch.LongTensor(targets).to(device)


def train_step(encoder, decoder, optimizers, source, target):
    for o in optimizers:
        o.zero_grad()
    hidden = encoder.initHidden(source.size(0))
    keys, hidden = encoder(source, hidden)
    logits = decoder(keys, hidden, source == PAD, target)
    loss = F.cross_entropy(logits.view(-1, logits.size(-1)), target.view(-1), ignore_index=PAD)
    loss.backward()
    for o in optimizers:
        o.step()
    return loss.item()


random.seed(0)
torch.manual_seed(0)
encoder = EncoderRNN(13, 16).to(device)
decoder = AttnDecoderRNN(16, 13).to(device)
optimizers = [torch.optim.Adam(m.parameters(), lr=1e-2) for m in (encoder, decoder)]
losses = [train_step(encoder, decoder, optimizers, *make_batch(12)) for _ in range(8)]
print("steps", len(losses))
with torch.no_grad():
    source, _ = make_batch(2)
    keys, hidden = encoder(source, encoder.initHidden(2))
    decoded = decoder(keys, hidden, source == PAD).argmax(-1)
print(tuple(decoded.cpu().numpy().shape))
