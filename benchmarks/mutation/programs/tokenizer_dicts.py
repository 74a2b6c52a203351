"""Fine-tuning a sentence classifier whose inputs come from a tokenizer as a dictionary-like object."""
from collections import UserDict

import torch
import torch.nn as nn
from torch.utils.data import DataLoader

SENTENCES = [
    ("a quiet and lovely film", 1),
    ("dull loud and far too long", 0),
    ("lovely acting", 1),
    ("the plot is dull", 0),
    ("i would see this lovely thing again", 1),
    ("too long and too dull to see again", 0),
] * 4


class BatchEncoding(UserDict):
    def to(self, device):
        self.data = {k: v.to(device) for k, v in self.data.items()}
        return self

    def __getattr__(self, name):
        try:
            return self.__dict__["data"][name]
        except KeyError:
            raise AttributeError(name) from None


class Tokenizer:
    def __init__(self, texts):
        words = sorted({w for text in texts for w in text.split()})
        self.vocab = {"[PAD]": 0, "[CLS]": 1, **{w: i + 2 for i, w in enumerate(words)}}

    def __call__(self, texts):
        rows = [[1] + [self.vocab[w] for w in t.split()] for t in texts]
        longest = max(map(len, rows))
        ids = torch.tensor([r + [0] * (longest - len(r)) for r in rows])
        return BatchEncoding({"input_ids": ids, "attention_mask": (ids != 0).long()})


class SentenceClassifier(nn.Module):
    def __init__(self, vocab_size, dim=16, max_len=12):
        super().__init__()
        self.word = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.position = nn.Embedding(max_len, dim)
        self.register_buffer("position_ids", torch.arange(max_len).expand((1, -1)), persistent=False)
        self.encoder = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.classifier = nn.Linear(dim, 2)

    def forward(self, input_ids, attention_mask=None, labels=None):
        seq = input_ids.shape[1]
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        hidden = self.word(input_ids) + self.position(self.position_ids[:, :seq])
        hidden = self.encoder(hidden, src_key_padding_mask=attention_mask == 0)
        weights = attention_mask.unsqueeze(-1).to(hidden.dtype)
        pooled = (hidden * weights).sum(1) / weights.sum(1)
        logits = self.classifier(pooled)
        out = {"logits": logits}
        if labels is not None:
            out["loss"] = nn.functional.cross_entropy(logits, labels)
        return out


def main():
    torch.manual_seed(99)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = Tokenizer([s for s, _ in SENTENCES])

    def collate(rows):
        encoding = tokenizer([text for text, _ in rows])
        encoding["labels"] = torch.tensor([label for _, label in rows])
        return encoding

    loader = DataLoader(SENTENCES, batch_size=6, collate_fn=collate, shuffle=True)
    model = SentenceClassifier(len(tokenizer.vocab))
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(3):
        for batch in loader:
            batch = {k: v.to(device) for k, v in batch.items()}
            outputs = model(**batch)
            outputs["loss"].backward()
            optimizer.step()
            optimizer.zero_grad()

    model.eval()
    inputs = tokenizer(["a dull film", "lovely"]).to(device)
    with torch.no_grad():
        probabilities = model(**inputs)["logits"].softmax(-1)
        unmasked = model(inputs.input_ids)["logits"]
    print(tuple(probabilities.shape), tuple(unmasked.shape))
    print([len(p) for p in probabilities.cpu().numpy()])


if __name__ == "__main__":
    main()
