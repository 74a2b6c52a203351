"""Train, save everything that is needed, start again from the file and go on."""
import os
import tempfile

import torch
import torch.nn as nn

DEVICE = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


class Tagger(nn.Module):
    def __init__(self, vocab=20, tags=4):
        super().__init__()
        self.embedding = nn.Embedding(vocab, 12)
        self.rnn = nn.GRU(12, 16, batch_first=True, bidirectional=True)
        self.out = nn.Linear(32, tags)

    def forward(self, tokens):
        hidden, _ = self.rnn(self.embedding(tokens))
        return self.out(hidden)


def create():
    model = Tagger().to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return model, optimizer


def run_epoch(model, optimizer, tokens, tags):
    model.train()
    logits = model(tokens.to(DEVICE))
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tags.to(DEVICE).flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def save(path, model, optimizer, epoch, history):
    torch.save(
        {
            "epoch": epoch,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "history": torch.tensor(history, device=DEVICE),
            "rng": torch.get_rng_state(),
        },
        path,
    )


def load(path, model, optimizer):
    checkpoint = torch.load(path, map_location=DEVICE)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    torch.set_rng_state(checkpoint["rng"].cpu())
    return checkpoint["epoch"], checkpoint["history"]


torch.manual_seed(30)
tokens = torch.randint(0, 20, (16, 7))
tags = tokens % 4

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "last.pt")
    model, optimizer = create()
    history = [run_epoch(model, optimizer, tokens, tags) for _ in range(3)]
    save(path, model, optimizer, 3, history)

    model, optimizer = create()
    start, past = load(path, model, optimizer)
    weights_only = torch.load(path, map_location="cpu")["model"]

for epoch in range(start, start + 3):
    history.append(run_epoch(model, optimizer, tokens, tags))
best = torch.minimum(past.min(), torch.tensor(history[-1], device=DEVICE))
print("epochs", len(history), "best is last:", bool(best <= past.min()))
print("parameters on disk", sum(v.numpy().size for v in weights_only.values()))
