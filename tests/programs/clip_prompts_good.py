import torch
import torch.nn as nn
import torch.nn.functional as F


class Vocab:
    """word <-> id, special tokens first"""
    PAD, UNK, CLS = range(3)

    def __init__(self, texts):
        words = sorted({w for t in texts for w in t.split()})
        self.stoi = {w: i + 3 for i, w in enumerate(words)}

    def __len__(self):
        return len(self.stoi) + 3

    def encode(self, text):
        return [self.CLS] + [self.stoi.get(w, self.UNK) for w in text.split()]


def make_collate(vocab):
    def collate(samples):
        images, texts = zip(*samples)
        ids = [torch.tensor(vocab.encode(t)) for t in texts]
        ids = nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=vocab.PAD)
        return {"pixels": torch.stack(images), "ids": ids, "mask": ids.ne(vocab.PAD)}
    return collate


class Prefetcher:
    def __init__(self, loader, device):
        self.loader, self.device = loader, device

    def __iter__(self):
        it = iter(self.loader)
        nxt = self._fetch(it)
        while nxt is not None:
            cur, nxt = nxt, self._fetch(it)
            yield cur

    def _fetch(self, it):
        batch = next(it, None)
        if batch is None:
            return None
        for key in batch:
            batch[key] = batch[key].to(self.device, non_blocking=True)
        return batch


class TextTower(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.tok = nn.Embedding(n, d)
        self.layer = nn.TransformerEncoderLayer(d, 2, 2 * d, batch_first=True)

    def forward(self, ids, mask):
        x = self.layer(self.tok(ids), src_key_padding_mask=~mask)
        m = mask.unsqueeze(-1).float()
        return (x * m).sum(1) / m.sum(1)


class CLIP(nn.Module):
    def __init__(self, vocab, d=16):
        super().__init__()
        self.visual = nn.Sequential(nn.Conv2d(3, d, 4, 4), nn.Flatten(2))
        self.textual = TextTower(len(vocab), d)
        self.logit_scale = nn.Parameter(torch.tensor(2.66))

    def forward(self, pixels, ids, mask):
        v = F.normalize(self.visual(pixels).mean(-1), dim=-1)
        t = F.normalize(self.textual(ids, mask), dim=-1)
        return self.logit_scale.exp() * v @ t.T


def clip_loss(logits):
    labels = torch.arange(logits.size(0), device=logits.device)
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2


class AverageMeter(object):
    def __init__(self):
        self.sum = self.cnt = 0

    def update(self, v, n=1):
        self.sum += v * n
        self.cnt += n

    @property
    def avg(self):
        return self.sum / self.cnt


def zero_shot(model, pixels, prompts, vocab, device):
    batch = make_collate(vocab)([(pixels[0].cpu(), p) for p in prompts])
    with torch.no_grad():
        v = F.normalize(model.visual(pixels).mean(-1), dim=-1)
        t = F.normalize(model.textual(batch["ids"].to(device), batch["mask"].to(device)), dim=-1)
    return (v @ t.T).argmax(1)


texts = ["a red cat", "a dog", "the big green dog runs", "a cat and a dog", "birds", "the red bird"]
vocab = Vocab(texts)
pairs = [(torch.rand(3, 8, 8), t) for t in texts]
loader = torch.utils.data.DataLoader(pairs, batch_size=3, collate_fn=make_collate(vocab))
device = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
model = CLIP(vocab).to(device)
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
for epoch in range(2):
    meter = AverageMeter()
    for batch in Prefetcher(loader, device):
        loss = clip_loss(model(batch["pixels"], batch["ids"], batch["mask"]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss.item(), len(batch["ids"]))
    print(epoch, meter.avg)
model.eval()
print(zero_shot(model, torch.rand(2, 3, 8, 8, device=device), ["a cat", "a dog"], vocab, device).tolist())
