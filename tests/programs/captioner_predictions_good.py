# image captioning with beam search
import torch
from torch import nn
import torch.nn.functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
word_map = {"<pad>": 0, "<start>": 1, "<end>": 2, "a": 3, "dog": 4, "cat": 5, "runs": 6}
rev_word_map = {v: k for k, v in word_map.items()}


class Attention(nn.Module):
    def __init__(self, enc, dec, att):
        super().__init__()
        self.e, self.d, self.f = nn.Linear(enc, att), nn.Linear(dec, att), nn.Linear(att, 1)

    def forward(self, enc_out, h):
        att = self.f(F.relu(self.e(enc_out) + self.d(h).unsqueeze(1))).squeeze(2)
        alpha = att.softmax(1)
        return (enc_out * alpha.unsqueeze(2)).sum(1), alpha


class Decoder(nn.Module):
    def __init__(self, vocab, emb=8, dec=8, enc=6):
        super().__init__()
        self.vocab_size = vocab
        self.attention = Attention(enc, dec, 8)
        self.embedding = nn.Embedding(vocab, emb)
        self.decode_step = nn.LSTMCell(emb + enc, dec)
        self.init_h, self.init_c = nn.Linear(enc, dec), nn.Linear(enc, dec)
        self.fc = nn.Linear(dec, vocab)

    def init_hidden_state(self, enc_out):
        m = enc_out.mean(1)
        return self.init_h(m), self.init_c(m)

    def forward(self, enc_out, caps, lens):
        bs, n = enc_out.size(0), enc_out.size(1)
        lens, ind = lens.squeeze(1).sort(dim=0, descending=True)
        enc_out, caps = enc_out[ind], caps[ind]
        emb = self.embedding(caps)
        h, c = self.init_hidden_state(enc_out)
        dec_lens = (lens - 1).tolist()
        predictions = torch.zeros(bs, max(dec_lens), self.vocab_size).to(device)
        alphas = torch.zeros(bs, max(dec_lens), n).to(device)
        for t in range(max(dec_lens)):
            bt = sum([l > t for l in dec_lens])
            ctx, alpha = self.attention(enc_out[:bt], h[:bt])
            h, c = self.decode_step(torch.cat([emb[:bt, t, :], ctx], 1), (h[:bt], c[:bt]))
            predictions[:bt, t, :] = self.fc(h)
            alphas[:bt, t, :] = alpha
        return predictions, caps, dec_lens, alphas


def beam_search(decoder, enc_out, k=3):
    n_pix, enc_dim = enc_out.size(1), enc_out.size(2)
    enc_out = enc_out.expand(k, n_pix, enc_dim)
    k_prev_words = torch.LongTensor([[word_map["<start>"]]] * k).to(device)
    seqs = k_prev_words
    top_k_scores = torch.zeros(k, 1).to(device)
    complete, complete_scores = [], []
    step = 1
    h, c = decoder.init_hidden_state(enc_out)
    while True:
        emb = decoder.embedding(k_prev_words).squeeze(1)
        awe, _ = decoder.attention(enc_out, h)
        h, c = decoder.decode_step(torch.cat([emb, awe], dim=1), (h, c))
        scores = F.log_softmax(decoder.fc(h), dim=1)
        scores = top_k_scores.expand_as(scores) + scores
        if step == 1:
            top_k_scores, top_k_words = scores[0].topk(k, 0, True, True)
        else:
            top_k_scores, top_k_words = scores.view(-1).topk(k, 0, True, True)
        prev_inds = torch.div(top_k_words, decoder.vocab_size, rounding_mode="floor")
        next_inds = top_k_words % decoder.vocab_size
        seqs = torch.cat([seqs[prev_inds], next_inds.unsqueeze(1)], dim=1)
        incomplete = [ind for ind, w in enumerate(next_inds) if w != word_map["<end>"]]
        done = list(set(range(len(next_inds))) - set(incomplete))
        if len(done) > 0:
            complete.extend(seqs[done].tolist())
            complete_scores.extend(top_k_scores[done])
        k -= len(done)
        if k == 0 or step > 6:
            break
        seqs = seqs[incomplete]
        h, c = h[prev_inds[incomplete]], c[prev_inds[incomplete]]
        enc_out = enc_out[prev_inds[incomplete]]
        top_k_scores = top_k_scores[incomplete].unsqueeze(1)
        k_prev_words = next_inds[incomplete].unsqueeze(1)
        step += 1
    if not complete:
        return seqs[0].tolist()
    return complete[complete_scores.index(max(complete_scores))]


torch.manual_seed(1)
dec = Decoder(len(word_map)).to(device)
opt = torch.optim.Adam(dec.parameters(), lr=4e-3)
feats = torch.randn(4, 9, 6)
caps = torch.tensor([[1, 3, 4, 6, 2], [1, 3, 5, 2, 0], [1, 4, 2, 0, 0], [1, 3, 4, 2, 0]])
lens = torch.tensor([[5], [4], [3], [4]])
for _ in range(2):
    scores, caps_sorted, dl, al = dec(feats.to(device), caps.to(device), lens.to(device))
    packed = nn.utils.rnn.pack_padded_sequence(scores, dl, batch_first=True).data
    tgt = nn.utils.rnn.pack_padded_sequence(caps_sorted[:, 1:], dl, batch_first=True).data
    loss = F.cross_entropy(packed, tgt) + ((1. - al.sum(dim=1)) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
dec.eval()
with torch.no_grad():
    print(" ".join(rev_word_map[i] for i in beam_search(dec, feats[:1].to(device))))
