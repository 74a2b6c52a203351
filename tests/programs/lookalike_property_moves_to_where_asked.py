import torch
from torch import nn


class Tokens:
    def __init__(self, ids, mask):
        self.ids, self.mask = ids, mask

    def to(self, device):
        self.ids = self.ids.to(device)
        self.mask = self.mask.to(device)
        return self

    @property
    def lengths(self):
        return self.mask.sum(1)

    def __len__(self):
        return len(self.ids)


class Tokenizer:
    def __call__(self, texts, max_len=5):
        ids = torch.zeros(len(texts), max_len, dtype=torch.long)
        mask = torch.zeros(len(texts), max_len)
        for i, t in enumerate(texts):
            codes = [ord(c) % 16 for c in t][:max_len]
            ids[i, :len(codes)] = torch.tensor(codes)
            mask[i, :len(codes)] = 1
        return Tokens(ids, mask)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(16, 6)

    @property
    def device(self):
        return self.e.weight.device

    def forward(self, tokens):
        x = self.e(tokens.ids) * tokens.mask[..., None]
        return x.sum(1) / tokens.lengths[:, None]

    def encode(self, texts, tok):
        batch = tok(texts)
        batch.to(self.device)
        with torch.no_grad():
            return self(batch).cpu()


enc = Encoder()
if torch.cuda.is_available():
    enc.to("cuda")
tok = Tokenizer()
corpus = enc.encode(["alpha", "beta", "gamma"], tok)
query = enc.encode(["beta"], tok)
print((corpus @ query.T).squeeze(1).argmax().item(), torch.zeros(3).add(corpus.mean(1)).shape)
