import argparse, math, os
import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument('--model', type=str, default='LSTM')
parser.add_argument('--emsize', type=int, default=8)
parser.add_argument('--nhid', type=int, default=8)
parser.add_argument('--bptt', type=int, default=6)
parser.add_argument('--batch_size', type=int, default=4)
parser.add_argument('--cuda', action='store_true', default=True)
parser.add_argument('--clip', type=float, default=0.25)
args = parser.parse_args()

if torch.cuda.is_available():
    if not args.cuda:
        print("WARNING: You have a CUDA device, so you should probably run with --cuda.")
device = torch.device("cuda" if args.cuda and torch.cuda.is_available() else "cpu")

class Dictionary(object):
    def __init__(self):
        self.word2idx, self.idx2word = {}, []
    def add_word(self, word):
        if word not in self.word2idx:
            self.idx2word.append(word)
            self.word2idx[word] = len(self.idx2word) - 1
        return self.word2idx[word]
    def __len__(self):
        return len(self.idx2word)

class Corpus(object):
    def __init__(self, text):
        self.dictionary = Dictionary()
        n = int(0.8 * len(text))
        self.train = self.tokenize(text[:n])
        self.valid = self.tokenize(text[n:])
    def tokenize(self, text):
        ids = torch.LongTensor(len(text))
        for i, ch in enumerate(text):
            ids[i] = self.dictionary.add_word(ch)
        return ids

corpus = Corpus("it was the best of times it was the worst of times it was the age of wisdom " * 3)

def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    data = data.narrow(0, 0, nbatch * bsz)
    data = data.view(bsz, -1).t().contiguous()
    return data.to(device)

class RNNModel(nn.Module):
    def __init__(self, rnn_type, ntoken, ninp, nhid, nlayers=1, dropout=0.2, tie=True):
        super(RNNModel, self).__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = getattr(nn, rnn_type)(ninp, nhid, nlayers)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie:
            self.decoder.weight = self.encoder.weight
        self.rnn_type, self.nhid, self.nlayers = rnn_type, nhid, nlayers
    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output))
        return decoded.view(-1, decoded.size(-1)), hidden
    def init_hidden(self, bsz):
        weight = next(self.parameters())
        if self.rnn_type == 'LSTM':
            return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))
        return weight.new_zeros(self.nlayers, bsz, self.nhid)

def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)

def get_batch(source, i):
    seq_len = min(args.bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].view(-1)

train_data = batchify(corpus.train, args.batch_size)
val_data = batchify(corpus.valid, 2)
ntokens = len(corpus.dictionary)
model = RNNModel(args.model, ntokens, args.emsize, args.nhid).to(device)
criterion = nn.CrossEntropyLoss()

def evaluate(source):
    model.eval()
    total_loss = 0.
    hidden = model.init_hidden(2)
    with torch.no_grad():
        for i in range(0, source.size(0) - 1, args.bptt):
            data, targets = get_batch(source, i)
            output, hidden = model(data, hidden)
            hidden = repackage_hidden(hidden)
            total_loss += len(data) * criterion(output, targets).item()
    return total_loss / (len(source) - 1)

def train(lr):
    model.train()
    hidden = model.init_hidden(args.batch_size)
    for batch, i in enumerate(range(0, train_data.size(0) - 1, args.bptt)):
        data, targets = get_batch(train_data, i)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)

for epoch in range(2):
    train(0.5)
    print(epoch, evaluate(val_data))

model.eval()
hidden = model.init_hidden(1)
input = torch.randint(ntokens, (1, 1), dtype=torch.long).to(device)
out = []
with torch.no_grad():
    for i in range(10):
        output, hidden = model(input, hidden)
        word_weights = output.squeeze().div(1.0).exp().cpu()
        word_idx = torch.multinomial(word_weights, 1)[0]
        input.fill_(word_idx)
        out.append(corpus.dictionary.idx2word[word_idx])
print("".join(out))
