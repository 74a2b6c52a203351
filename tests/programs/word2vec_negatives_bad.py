"""Skip-gram with negative sampling."""
from collections import Counter

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

CORPUS = """the king sat on the throne and the queen sat by the king while the cat
slept on the mat and the dog slept by the cat""".split()


class SkipGram(nn.Module):
    def __init__(self, n_vocab, n_embed, noise_dist=None):
        super().__init__()
        self.n_vocab = n_vocab
        self.noise_dist = noise_dist  # CAUSE
        self.in_embed = nn.Embedding(n_vocab, n_embed)
        self.out_embed = nn.Embedding(n_vocab, n_embed)
        self.in_embed.weight.data.uniform_(-1, 1)
        self.out_embed.weight.data.uniform_(-1, 1)

    def forward_input(self, words):
        return self.in_embed(words)

    def forward_output(self, words):
        return self.out_embed(words)

    def forward_noise(self, batch_size, n_samples):
        noise_dist = torch.ones(self.n_vocab) if self.noise_dist is None else self.noise_dist
        noise_words = torch.multinomial(noise_dist, batch_size * n_samples, replacement=True)
        # shape: batch x samples x embedding
        return self.out_embed(noise_words).view(batch_size, n_samples, -1)  # CAUSE FAIL


def negative_sampling_loss(v, pos, neg):
    good = F.logsigmoid((v * pos).sum(1))
    bad = F.logsigmoid(-(neg @ v.unsqueeze(2)).squeeze(2)).sum(1)
    return -(good + bad).mean()


def get_pairs(ids, window=2):
    for i, centre in enumerate(ids):
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if j != i:
                yield centre, ids[j]


def main():
    torch.manual_seed(0)
    counts = Counter(CORPUS)
    vocab = {w: i for i, (w, _) in enumerate(counts.most_common())}
    freqs = np.array([counts[w] for w in vocab], dtype=np.float32) ** 0.75
    noise_dist = torch.from_numpy(freqs / freqs.sum())

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = SkipGram(len(vocab), 8, noise_dist).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    pairs = list(get_pairs([vocab[w] for w in CORPUS]))
    for epoch in range(2):
        for k in range(0, len(pairs), 25):
            inputs, targets = torch.LongTensor(pairs[k:k + 25]).to(device).t()
            v = model.forward_input(inputs)
            u = model.forward_output(targets)
            n = model.forward_noise(inputs.shape[0], 3)
            loss = negative_sampling_loss(v, u, n)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"Epoch {epoch}: {loss.item():.3f}")


main()
