"""Beam search over a toy captioner; the bookkeeping tensors are made with new_*."""
import torch
import torch.nn as nn

BOS, EOS, VOCAB = 1, 2, 14


class Captioner(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.image = nn.Linear(6, dim)
        self.word = nn.Embedding(VOCAB, dim)
        self.cell = nn.GRUCell(dim, dim)
        self.out = nn.Linear(dim, VOCAB)
        self.register_buffer("banned", torch.zeros(VOCAB).index_fill_(0, torch.tensor([0, BOS]), float("-inf")))

    def step(self, token, state):
        state = self.cell(self.word(token), state)
        return (self.out(state) + self.banned).log_softmax(-1), state

    def forward(self, image, caption):
        state, logits = self.image(image), []
        for token in caption[:, :-1].unbind(1):
            scores, state = self.step(token, state)
            logits.append(scores)
        return torch.stack(logits, dim=1)


@torch.no_grad()
def beam_search(model, image, beams=3, length=5):
    state = model.image(image.unsqueeze(0)).repeat(beams, 1)
    tokens = state.new_full((beams, 1), BOS, dtype=torch.long)
    scores = state.new_full((beams,), -1e9)
    scores[0] = 0
    done = tokens.new_zeros(beams, dtype=torch.bool)
    only_eos = state.new_full((VOCAB,), -1e9)
    only_eos[EOS] = 0
    for _ in range(length):
        logp, state = model.step(tokens[:, -1], state)
        logp = torch.where(done.unsqueeze(1), only_eos, logp)
        scores, flat = (scores.unsqueeze(1) + logp).view(-1).topk(beams)
        origin, word = flat // VOCAB, flat % VOCAB
        tokens = torch.cat([tokens[origin], word.unsqueeze(1)], dim=1)
        state, done = state[origin], done[origin] | (word == EOS)
    penalty = scores.new_tensor([5.0 + length]).pow(0.6)
    return tokens[(scores / penalty).argmax()]


def padded(rows, device):
    longest = max(map(len, rows))
    out = torch.zeros(len(rows), longest, dtype=torch.long, device=device)
    for i, row in enumerate(rows):
        out[i, : len(row)] = torch.tensor(row)
    return out


def main():
    torch.manual_seed(90)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Captioner().to(device)
    images = torch.eye(6)
    captions = padded([[BOS, 3 + i, 4 + i, EOS] for i in range(6)], device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    ignore = torch.ones(VOCAB, device=device)
    ignore[0] = 0
    for _ in range(12):
        logits = model(images.to(device), captions)
        loss = nn.functional.nll_loss(logits.flatten(0, 1), captions[:, 1:].flatten(), weight=ignore)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    best = [beam_search(model, image) for image in images[:2].to(device)]
    print([len(b.cpu().numpy()) for b in best], bool(torch.isfinite(loss)))


if __name__ == "__main__":
    main()
