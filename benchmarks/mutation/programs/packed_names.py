"""Which language is a name from? Packed sequences, teacher-forced nothing, a confusion matrix."""
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

ALPHABET = "abcdefghijklmnopqrstuvwxyz"
NAMES = {
    "italian": ["rossi", "bianchi", "ricci", "marino", "greco", "conti", "moretti"],
    "polish": ["nowak", "wojcik", "kowalczyk", "mazur", "krawczyk", "kaczmarek", "zajac"],
    "japanese": ["sato", "suzuki", "takahashi", "tanaka", "ito", "watanabe", "nakamura"],
}


def name_to_tensor(name):
    return torch.tensor([ALPHABET.index(ch) + 1 for ch in name])


class NameClassifier(nn.Module):
    def __init__(self, n_classes, hidden=20):
        super().__init__()
        self.hidden = hidden
        self.embed = nn.Embedding(len(ALPHABET) + 1, 10, padding_idx=0)
        self.rnn = nn.LSTM(10, hidden, batch_first=True, bidirectional=True)
        self.attend = nn.Linear(2 * hidden, 1)
        self.fc = nn.Linear(2 * hidden, n_classes)

    def forward(self, padded, lengths):
        packed = pack_padded_sequence(self.embed(padded), lengths.cpu(), batch_first=True, enforce_sorted=False)
        h0 = torch.zeros(2, padded.size(0), self.hidden, device=padded.device)
        c0 = torch.zeros(2, padded.size(0), self.hidden, device=padded.device)
        states, _ = pad_packed_sequence(self.rnn(packed, (h0, c0))[0], batch_first=True)
        mask = torch.arange(states.size(1), device=padded.device)[None] < lengths[:, None]
        scores = self.attend(states).squeeze(-1).masked_fill(~mask, float("-inf"))
        return self.fc((scores.softmax(-1).unsqueeze(-1) * states).sum(1))


def make_batches(pairs, size, device):
    for i in range(0, len(pairs), size):
        names, labels = zip(*pairs[i : i + size])
        lengths = torch.tensor([len(n) for n in names]).to(device)
        padded = pad_sequence([name_to_tensor(n) for n in names], batch_first=True).to(device)
        yield padded, lengths, torch.tensor(labels, device=device)


def main():
    random.seed(1)
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    languages = sorted(NAMES)
    pairs = [(name, languages.index(lang)) for lang in languages for name in NAMES[lang]]
    random.shuffle(pairs)
    model = NameClassifier(len(languages)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(4):
        for padded, lengths, labels in make_batches(pairs, 7, device):
            loss = nn.functional.cross_entropy(model(padded, lengths), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    confusion = torch.zeros(3, 3, device=device)
    with torch.no_grad():
        for padded, lengths, labels in make_batches(pairs, 7, device):
            guess = model(padded, lengths).argmax(1)
            confusion.index_put_((labels, guess), torch.ones(len(labels), device=device), accumulate=True)
    rows = confusion.cpu().numpy()
    print("names", int(rows.sum()), rows.shape)


if __name__ == "__main__":
    main()
