import torch
from torch import nn
from torch.utils.data import DataLoader

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
vocab = {w: i for i, w in enumerate("a b c d".split())}


def collate_batch(batch):
    labels, texts, offsets = [], [], [0]
    for label, text in batch:
        labels.append(label)
        ids = torch.tensor([vocab[t] for t in text.split()], dtype=torch.int64)
        texts.append(ids)
        offsets.append(ids.size(0))
    labels = torch.tensor(labels, dtype=torch.int64)
    offsets = torch.tensor(offsets[:-1]).cumsum(dim=0)
    return labels.to(DEVICE), torch.cat(texts).to(DEVICE), offsets.to(DEVICE)


model = nn.EmbeddingBag(4, 2).to(DEVICE)
for label, text, offsets in DataLoader([(0, "a b"), (1, "c d a"), (1, "b")], batch_size=2, collate_fn=collate_batch):
    nn.functional.cross_entropy(model(text, offsets), label).backward()
