"""Sequence-to-sequence with GRUs: copies number words, teacher forcing half the time."""
import random

import torch
import torch.nn as nn

SOS_token, EOS_token = 0, 1
WORDS = ["SOS", "EOS", "one", "two", "three", "four", "five"]

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size):
        super(EncoderRNN, self).__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size)

    def forward(self, input, hidden):
        embedded = self.embedding(input).view(1, 1, -1)
        return self.gru(embedded, hidden)

    def initHidden(self):
        return torch.zeros(1, 1, self.hidden_size, device=device)


class DecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size):
        super(DecoderRNN, self).__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        output = torch.relu(self.embedding(input).view(1, 1, -1))  # FAIL
        output, hidden = self.gru(output, hidden)
        return self.softmax(self.out(output[0])), hidden


def tensor_from_sentence(sentence):
    indexes = [WORDS.index(w) for w in sentence.split()] + [EOS_token]
    return torch.tensor(indexes, dtype=torch.long, device=device).view(-1, 1)


def train(pair, encoder, decoder, enc_opt, dec_opt, criterion, teacher_forcing=0.5):
    src, dst = (tensor_from_sentence(s) for s in pair)
    hidden = encoder.initHidden()
    enc_opt.zero_grad()
    dec_opt.zero_grad()
    for ei in range(src.size(0)):
        _, hidden = encoder(src[ei], hidden)

    decoder_input = torch.tensor([[SOS_token]])  # CAUSE
    forced = random.random() < teacher_forcing
    loss = 0
    for di in range(dst.size(0)):
        output, hidden = decoder(decoder_input, hidden)  # CALL
        loss += criterion(output, dst[di])
        if forced:
            decoder_input = dst[di]
        else:
            decoder_input = output.topk(1)[1].squeeze().detach()
            if decoder_input.item() == EOS_token:
                break
    loss.backward()
    enc_opt.step()
    dec_opt.step()
    return loss.item() / dst.size(0)


def main():
    random.seed(2)
    torch.manual_seed(2)
    sentences = ["one two", "three four five", "two", "five one"]
    encoder = EncoderRNN(len(WORDS), 16).to(device)
    decoder = DecoderRNN(16, len(WORDS)).to(device)
    enc_opt = torch.optim.SGD(encoder.parameters(), lr=0.05)
    dec_opt = torch.optim.SGD(decoder.parameters(), lr=0.05)
    for it in range(4):
        s = random.choice(sentences)
        print(it, s, "%.3f" % train((s, s), encoder, decoder, enc_opt, dec_opt, nn.NLLLoss()))


main()
