from typing import List, Tuple

import torch
import torch.nn as nn
from torch import Tensor

SOS, EOS, PAD = 1, 2, 0


class Encoder(nn.Module):
    def __init__(self, vocab: int, dim: int):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim, batch_first=True)

    def forward(self, src: Tensor) -> Tuple[Tensor, Tensor]:
        return self.rnn(self.embedding(src))


class Decoder(nn.Module):
    def __init__(self, vocab: int, dim: int):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.attn = nn.Linear(dim, dim)
        self.fc = nn.Linear(2 * dim, vocab)

    def step(self, token: Tensor, hidden: Tensor, memory: Tensor, mask: Tensor) -> Tuple[Tensor, Tensor]:
        out, hidden = self.rnn(self.embedding(token), hidden)
        scores = torch.bmm(self.attn(out), memory.transpose(1, 2))
        scores = scores.masked_fill(~mask.unsqueeze(1), -1e9)
        ctx = torch.bmm(scores.softmax(-1), memory)
        return self.fc(torch.cat([out, ctx], -1)).squeeze(1), hidden


class Translator:
    def __init__(self, vocab: int, dim: int, device: torch.device, beam_size: int = 3):
        self.encoder = Encoder(vocab, dim).to(device)
        self.decoder = Decoder(vocab, dim).to(device)
        self.vocab = vocab
        self.beam_size = beam_size
        self.device = device

    @torch.no_grad()
    def beam(self, src: Tensor, max_len: int = 6) -> List[int]:
        k = self.beam_size
        memory, hidden = self.encoder(src)
        mask = src != PAD
        memory = memory.expand(k, -1, -1)
        mask = mask.expand(k, -1)
        hidden = hidden.expand(-1, k, -1).contiguous()
        seqs = torch.full((k, 1), SOS, dtype=torch.long, device=self.device)
        scores = torch.zeros(k, 1, device=self.device)
        finished: List[Tuple[float, List[int]]] = []
        for step in range(max_len):
            logits, hidden = self.decoder.step(seqs[:, -1:], hidden, memory, mask)
            logp = scores + logits.log_softmax(-1)
            if step == 0:
                scores, idx = logp[0].topk(k)
            else:
                scores, idx = logp.view(-1).topk(k)
            prev = torch.div(idx, self.vocab, rounding_mode="floor")
            word = idx % self.vocab
            seqs = torch.cat([seqs[prev], word.unsqueeze(1)], dim=1)
            hidden = hidden[:, prev]
            scores = scores.unsqueeze(1)
            for i in range(k):
                if word[i].item() == EOS:
                    finished.append((scores[i].item() / (step + 1), seqs[i].tolist()))
        if not finished:
            finished = [(s.item(), q.tolist()) for s, q in zip(scores, seqs)]
        return max(finished)[1]

    def loss(self, src: Tensor, tgt: Tensor) -> Tensor:
        memory, hidden = self.encoder(src)
        mask = src != PAD
        total = torch.zeros((), device=self.device)
        for t in range(tgt.size(1) - 1):
            logits, hidden = self.decoder.step(tgt[:, t:t + 1], hidden, memory, mask)
            total = total + nn.functional.cross_entropy(logits, tgt[:, t + 1], ignore_index=PAD)
        return total / tgt.size(1)


def run() -> None:
    torch.manual_seed(3)
    device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
    tr = Translator(20, 16, device)
    optim = torch.optim.SGD([*tr.encoder.parameters(), *tr.decoder.parameters()], lr=0.1)
    for _ in range(2):
        src = torch.randint(3, 20, (4, 7))
        tgt = torch.cat([torch.full((4, 1), SOS), torch.randint(3, 20, (4, 5)), torch.full((4, 1), EOS)], 1)
        loss = tr.loss(src.to(device), tgt.to(device))
        optim.zero_grad()
        loss.backward()
        optim.step()
    print(tr.beam(torch.tensor([[5, 6, 7]], device=device)))


if __name__ == "__main__":
    run()
