import torch as th
from torch import nn

class TinyGPT(nn.Module):
    def __init__(self, vocab, d, layers, ctx=32):
        super().__init__()
        self.wte = nn.Embedding(vocab, d)
        self.wpe = nn.Embedding(ctx, d)
        blk = lambda: nn.TransformerEncoderLayer(d, 2, 2 * d, dropout=0.0, batch_first=True)
        self.h = nn.ModuleList([blk() for _ in range(layers)])
        self.lm_head = nn.Linear(d, vocab)

    def forward(self, ids):
        T = ids.shape[-1]
        pos = th.arange(T, device=ids.device)
        x = self.wte(ids) + self.wpe(pos)
        causal = nn.Transformer.generate_square_subsequent_mask(T)
        for b in self.h:
            x = b(x, src_mask=causal)  # FAIL
        return self.lm_head(x)


def norm_logits(logits, temperature, top_k):
    logits = logits / temperature
    if top_k:
        v, _ = logits.topk(top_k)
        logits = logits.masked_fill(logits < v[:, -1:], -float('inf'))
    return logits.softmax(-1)


def residual(p, q):
    r = (p - q).clamp(min=0)
    s = r.sum(-1, keepdim=True)
    return th.where(s > 0, r / s, p)


@th.no_grad()
def speculate(prefix, draft, target, max_len, gamma=3, temperature=1.0, top_k=5, seed=None):
    assert prefix.shape[0] == 1
    device = prefix.device
    accepted = drafted = 0
    while prefix.shape[1] < max_len:
        x, n = prefix, prefix.shape[1]
        q = []
        for _ in range(gamma):
            probs = norm_logits(draft(x)[:, -1], temperature, top_k)
            tok = th.multinomial(probs, 1)
            q.append(probs)
            x = th.cat((x, tok), dim=1)
        p = target(x)
        keep = n + gamma
        drafted += gamma
        for i in range(gamma):
            r = th.rand(1, device=device)
            j = x[:, n + i]
            pi = norm_logits(p[:, n + i - 1], temperature, top_k)
            if r > (pi[0, j] / q[i][0, j]):
                keep = n + i
                t = th.multinomial(residual(pi, q[i]), 1)
                break
            accepted += 1
        else:
            t = th.multinomial(norm_logits(p[:, -1], temperature, top_k), 1)
        prefix = th.cat((x[:, :keep], t), dim=1)
    return prefix, accepted / drafted


def encode(text, stoi, device):
    ids = [stoi[c] for c in text]
    return th.tensor(ids, dtype=th.long).unsqueeze(0).to(device)


def main():
    th.manual_seed(123)
    device = th.device('cuda' if th.cuda.is_available() else 'cpu')
    chars = sorted(set('the quick brown fox jumps over the lazy dog'))
    stoi = {c: i for i, c in enumerate(chars)}
    big = TinyGPT(len(chars), 32, 2).to(device).eval()
    small = TinyGPT(len(chars), 16, 1).to(device).eval()
    out, rate = speculate(encode('the quick', stoi, device), small, big, 18)
    print(''.join(chars[i] for i in out[0].tolist()), f'accepted {rate:.2f}')

main()
