"""Vocabulary, collate with offsets, a function that classifies one sentence. Everything arrives on `device`."""
import torch
from torch import nn
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
train_iter = [
    (0, "the match ended in a draw"), (1, "shares fell on monday"), (0, "the striker scored twice"),
    (1, "the bank raised its rates"), (0, "a late goal won the cup"), (1, "profits doubled this year"),
]
vocab = {"<unk>": 0}
for _, line in train_iter:
    for tok in line.split():
        vocab.setdefault(tok, len(vocab))

text_pipeline = lambda x: [vocab.get(t, 0) for t in x.split()]
label_pipeline = lambda x: int(x)


def collate_batch(batch):
    label_list, text_list, offsets = [], [], [0]
    for _label, _text in batch:
        label_list.append(label_pipeline(_label))
        processed_text = torch.tensor(text_pipeline(_text), dtype=torch.int64)
        text_list.append(processed_text)
        offsets.append(processed_text.size(0))
    label_list = torch.tensor(label_list, dtype=torch.int64)
    offsets = torch.tensor(offsets[:-1]).cumsum(dim=0)
    text_list = torch.cat(text_list)
    return label_list.to(device), text_list.to(device), offsets.to(device)


class TextClassificationModel(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_class):
        super(TextClassificationModel, self).__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, embed_dim, sparse=False)
        self.fc = nn.Linear(embed_dim, num_class)

    def forward(self, text, offsets):
        return self.fc(self.embedding(text, offsets))


torch.manual_seed(0)
dataloader = DataLoader(train_iter, batch_size=2, shuffle=False, collate_fn=collate_batch)
model = TextClassificationModel(len(vocab), 8, 2).to(device)
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=5.0)
for epoch in range(3):
    for idx, (label, text, offsets) in enumerate(dataloader):
        optimizer.zero_grad()
        loss = criterion(model(text, offsets), label)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())


def predict(text, text_pipeline):
    with torch.no_grad():
        text = torch.tensor(text_pipeline(text))
        output = model(text, torch.tensor([0]))
        return output.argmax(1).item() + 1


model = model.to("cpu")
print(predict("the bank won", text_pipeline))
