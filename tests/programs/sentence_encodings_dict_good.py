# sentence similarity with a tokenizer that answers a dict with a .to
from collections import UserDict
import torch, torch.nn as nn
import torch.nn.functional as F


class BatchEncoding(UserDict):
    def to(self, device):
        self.data = {k: v.to(device) for k, v in self.data.items()}
        return self

    def __getattr__(self, name):
        try:
            return self.__dict__["data"][name]
        except KeyError:
            raise AttributeError(name) from None


class HashTokenizer:
    def __init__(self, size):
        self.size = size

    def __call__(self, texts, max_length=8):
        ids = torch.zeros(len(texts), max_length, dtype=torch.long)
        for row, text in enumerate(texts):
            for col, word in enumerate(text.split()[:max_length]):
                ids[row, col] = 1 + sum(map(ord, word)) % (self.size - 1)
        return BatchEncoding(input_ids=ids, attention_mask=(ids != 0).long())


class Encoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(8, dim)
        self.ff = nn.Linear(dim, dim)

    def forward(self, input_ids, attention_mask):
        position = torch.arange(input_ids.shape[1], device=input_ids.device)
        h = self.ff(self.tok(input_ids) + self.pos(position)).tanh()
        m = attention_mask.unsqueeze(-1)
        return (h * m).sum(1) / m.sum(1).clamp(min=1)


def embed(texts, tokenizer, model, batch_size=2):
    chunks = []
    for i in range(0, len(texts), batch_size):
        enc = tokenizer(texts[i:i + batch_size]).to(model.tok.weight.device)
        with torch.no_grad():
            chunks.append(F.normalize(model(**enc), dim=-1).cpu())
    return torch.cat(chunks)


if __name__ == '__main__':
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    tokenizer = HashTokenizer(50)
    model = Encoder(50, 12).to(device).eval()
    corpus = ["a cat sat", "the dog ran away", "a cat ran", "stocks fell today", "it rained"]
    bank = embed(corpus, tokenizer, model)
    query = embed(["a cat sat down"], tokenizer, model)
    scores = (query @ bank.T).squeeze(0)
    for i in scores.argsort(descending=True)[:2]:
        print(corpus[i], round(scores[i].item(), 3))
