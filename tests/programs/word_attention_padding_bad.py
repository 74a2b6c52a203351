import numpy as np
import torch
from torch import nn, optim

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, feature_dim, step_dim):
        super(Attention, self).__init__()
        self.step_dim = step_dim
        weight = torch.zeros(feature_dim, 1)
        nn.init.kaiming_uniform_(weight)
        self.weight = nn.Parameter(weight)
        self.b = nn.Parameter(torch.zeros(step_dim))

    def forward(self, x, mask=None):
        eij = torch.mm(x.contiguous().view(-1, x.size(-1)), self.weight).view(-1, self.step_dim)
        a = torch.exp(torch.tanh(eij + self.b))
        if mask is not None:
            a = a * mask
        a = a / (torch.sum(a, 1, keepdim=True) + 1e-10)
        return torch.sum(x * torch.unsqueeze(a, -1), 1)


class NeuralNet(nn.Module):
    def __init__(self, embedding_matrix):
        super().__init__()
        self.embedding = nn.Embedding(*embedding_matrix.shape)
        self.embedding.weight = nn.Parameter(torch.tensor(embedding_matrix, dtype=torch.float32))
        self.embedding.weight.requires_grad = False
        self.gru = nn.GRU(embedding_matrix.shape[1], 4, bidirectional=True, batch_first=True)
        self.attention = Attention(8, 7)
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        h, _ = self.gru(self.embedding(x))  # FAIL
        return self.out(self.attention(h, (x > 0).float()))


x_train_fold = torch.tensor(np.random.randint(0, 10, (12, 7)), dtype=torch.long).cuda() if torch.cuda.is_available() else torch.tensor(np.random.randint(0, 10, (12, 7)), dtype=torch.long)
y_train_fold = torch.tensor(np.random.rand(12, 1), dtype=torch.float32)
if torch.cuda.is_available():
    y_train_fold = y_train_fold.cuda()
model = NeuralNet(np.random.rand(10, 5))  # CAUSE
if torch.cuda.is_available():
    pass
loss_fn = nn.BCEWithLogitsLoss(reduction="sum")
optimizer = optim.Adam([p for p in model.parameters() if p.requires_grad])
train = torch.utils.data.TensorDataset(x_train_fold, y_train_fold)
for x_batch, y_batch in torch.utils.data.DataLoader(train, batch_size=4, shuffle=True):
    loss = loss_fn(model(x_batch), y_batch)  # CALL
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
