"""Beam search over a tiny GRU language model."""
import torch
from torch import nn


class LM(nn.Module):
    def __init__(self, vocab=15, dim=12):
        super().__init__()
        self.vocab = vocab
        self.emb = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        h, _ = self.gru(self.emb(ids))
        return self.out(h)


class BeamSearcher:
    def __init__(self, lm, beam=3, eos=1):
        self.lm = lm
        self.beam = beam
        self.eos = eos

    @torch.no_grad()
    def search(self, prompt, steps):
        """prompt: LongTensor (batch, length), on the model's device"""
        B, K, V = prompt.size(0), self.beam, self.lm.vocab
        seqs = prompt.repeat_interleave(K, dim=0)
        scores = torch.full((B, K), float("-inf"), device=prompt.device)
        scores[:, 0] = 0.0
        offsets = torch.arange(B, device=prompt.device).unsqueeze(1) * K

        for _ in range(steps):
            logp = self.lm(seqs)[:, -1].log_softmax(-1).view(B, K, V)
            total = (scores.unsqueeze(-1) + logp).view(B, K * V)
            scores, flat = total.topk(K, dim=1)
            parents = flat // V
            words = flat % V
            rows = (parents + offsets).view(-1)
            seqs = torch.cat([seqs[rows], words.view(-1, 1)], dim=1)
            if (words == self.eos).all():
                break
        best = scores.argmax(dim=1)
        return seqs.view(B, K, -1)[torch.arange(B), best], scores.max(1).values


def main():
    torch.manual_seed(11)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    lm = LM().to(device).eval()
    prompt = torch.tensor([[2, 3], [4, 5]]).to(device)
    seqs, scores = BeamSearcher(lm).search(prompt, steps=4)
    for s, sc in zip(seqs.tolist(), scores.tolist()):
        print(s, round(sc, 3))


if __name__ == "__main__":
    main()
