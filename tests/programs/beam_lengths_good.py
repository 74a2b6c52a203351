import heapq
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence, pad_packed_sequence

PAD, BOS, EOS, UNK = 0, 1, 2, 3

class Vocab:
    def __init__(self, sents):
        self.itos = ["<pad>", "<bos>", "<eos>", "<unk>"]
        for s in sents:
            for w in s.split():
                if w not in self.itos:
                    self.itos.append(w)
        self.stoi = {w: i for i, w in enumerate(self.itos)}
    def numericalize(self, s):
        return [self.stoi.get(w, UNK) for w in s.split()] + [EOS]
    def __len__(self): return len(self.itos)

class Collate:
    def __init__(self, src, tgt):
        self.src, self.tgt = src, tgt
    def __call__(self, batch):
        batch = sorted(batch, key=lambda b: -len(b[0].split()))
        s = [torch.tensor(self.src.numericalize(a)) for a, _ in batch]
        t = [torch.tensor([BOS] + self.tgt.numericalize(b)) for _, b in batch]
        return pad_sequence(s, True, PAD), torch.tensor([len(x) for x in s]), pad_sequence(t, True, PAD)

class Encoder(nn.Module):
    def __init__(self, v, e, h):
        super().__init__()
        self.emb = nn.Embedding(v, e, padding_idx=PAD)
        self.rnn = nn.GRU(e, h, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * h, h)
    def forward(self, x, lens):
        packed = pack_padded_sequence(self.emb(x), lens.cpu(), batch_first=True)
        o, h = self.rnn(packed)
        o, _ = pad_packed_sequence(o, batch_first=True)
        return o, torch.tanh(self.fc(torch.cat([h[0], h[1]], -1)))

class Decoder(nn.Module):
    def __init__(self, v, e, h):
        super().__init__()
        self.emb = nn.Embedding(v, e)
        self.att = nn.Linear(3 * h, 1)
        self.cell = nn.GRUCell(e + 2 * h, h)
        self.out = nn.Linear(h, v)
    def forward(self, tok, h, enc, mask):
        q = h.unsqueeze(1).expand(-1, enc.size(1), -1)
        a = self.att(torch.cat([q, enc], -1)).squeeze(-1).masked_fill(mask, float("-inf")).softmax(-1)
        ctx = torch.bmm(a.unsqueeze(1), enc).squeeze(1)
        h = self.cell(torch.cat([self.emb(tok), ctx], -1), h)
        return self.out(h), h

class Seq2Seq(nn.Module):
    def __init__(self, enc, dec, device):
        super().__init__()
        self.encoder, self.decoder, self.device = enc, dec, device
    def forward(self, src, lens, trg, tf=0.5):
        b, T = trg.shape
        outputs = torch.zeros(b, T, self.decoder.out.out_features).to(self.device)
        enc, h = self.encoder(src, lens)
        mask = self.length_mask(lens, enc.size(1))
        tok = trg[:, 0]
        for t in range(1, T):
            o, h = self.decoder(tok, h, enc, mask)
            outputs[:, t] = o
            use = torch.rand(b, device=self.device) < tf
            tok = torch.where(use, trg[:, t], o.argmax(1))
        return outputs
    def length_mask(self, lens, L):
        return torch.arange(L, device=self.device)[None] >= lens.to(self.device)[:, None]

    @torch.no_grad()
    def beam(self, sent, src_vocab, tgt_vocab, k=2, maxlen=6):
        self.eval()
        x = torch.tensor([src_vocab.numericalize(sent)], device=self.device)
        enc, h = self.encoder(x, torch.tensor([x.size(1)]))
        mask = torch.zeros(1, x.size(1), dtype=torch.bool, device=self.device)
        beams, done = [(0.0, [BOS], h)], []
        for _ in range(maxlen):
            cand = []
            for score, seq, h in beams:
                o, h2 = self.decoder(torch.tensor([seq[-1]], device=self.device), h, enc, mask)
                lp, ix = F.log_softmax(o, -1).topk(k)
                for l, i in zip(lp[0].tolist(), ix[0].tolist()):
                    (done if i == EOS else cand).append((score + l, seq + [i], h2))
            if not cand:
                break
            beams = heapq.nlargest(k, cand, key=lambda c: c[0])
        best = max(done + beams, key=lambda c: c[0] / len(c[1]))
        return [tgt_vocab.itos[i] for i in best[1] if i > 3]

pairs = [("das haus ist gross", "the house is big"), ("ein hund", "a dog"), ("der hund ist klein", "the dog is small"), ("hallo", "hello")]
sv, tv = Vocab([p[0] for p in pairs]), Vocab([p[1] for p in pairs])
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Seq2Seq(Encoder(len(sv), 8, 8), Decoder(len(tv), 8, 8), device).to(device)
opt = torch.optim.Adam(model.parameters())
crit = nn.CrossEntropyLoss(ignore_index=PAD)
for ep in range(2):
    for src, lens, trg in torch.utils.data.DataLoader(pairs, 2, collate_fn=Collate(sv, tv)):
        src, trg = src.to(device), trg.to(device)
        out = model(src, lens, trg)
        loss = crit(out[:, 1:].flatten(0, 1), trg[:, 1:].flatten())
        opt.zero_grad(); loss.backward(); opt.step()
    print(ep, loss.item())
print(model.beam("der hund", sv, tv))
