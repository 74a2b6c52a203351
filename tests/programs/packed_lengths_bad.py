"""Sentence classification with packed sequences."""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

PAD = 0


class LSTMClassifier(nn.Module):
    def __init__(self, vocab_size, embed_dim, hidden_dim, num_class):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=PAD)
        self.lstm = nn.LSTM(embed_dim, hidden_dim, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden_dim, num_class)

    def forward(self, text, lengths):
        emb = self.embedding(text)
        packed = pack_padded_sequence(emb, lengths, batch_first=True, enforce_sorted=False)  # CAUSE FAIL
        _, (h, _) = self.lstm(packed)
        return self.fc(torch.cat([h[-2], h[-1]], dim=1))


def collate_batch(batch):
    texts = [torch.tensor(t, dtype=torch.int64) for t, _ in batch]
    lengths = torch.tensor([len(t) for t in texts])
    labels = torch.tensor([l for _, l in batch])
    return pad_sequence(texts, batch_first=True, padding_value=PAD), lengths, labels


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    corpus = [([3, 4, 5, 6], 0), ([7, 8], 1), ([9, 3, 4], 0), ([8, 8, 7, 7, 2], 1)] * 3
    loader = torch.utils.data.DataLoader(corpus, batch_size=4, shuffle=True, collate_fn=collate_batch)

    model = LSTMClassifier(10, 6, 8, 2).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    criterion = nn.CrossEntropyLoss()
    for epoch in range(2):
        acc = 0
        for text, lengths, labels in loader:
            text, lengths, labels = text.to(device), lengths.to(device), labels.to(device)
            out = model(text, lengths)
            loss = criterion(out, labels)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            acc += (out.argmax(1) == labels).sum().item()
        print(f"epoch {epoch}: {acc}/{len(corpus)}")


if __name__ == "__main__":
    main()
