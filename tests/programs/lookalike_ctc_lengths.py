"""CTC: targets and lengths may stay on the CPU."""
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class CRNN(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.cnn = nn.Conv1d(8, 16, 3, padding=1)
        self.rnn = nn.GRU(16, 12, bidirectional=True)
        self.fc = nn.Linear(24, n_classes)

    def forward(self, x):
        f = torch.relu(self.cnn(x)).permute(2, 0, 1)
        out, _ = self.rnn(f)
        return self.fc(out).log_softmax(2)


model = CRNN(11).to(device)
ctc = nn.CTCLoss(blank=0, zero_infinity=True)
opt = torch.optim.Adam(model.parameters())
for step in range(3):
    x = torch.randn(4, 8, 20)
    target_lengths = torch.randint(2, 6, (4,))
    targets = torch.randint(1, 11, (int(target_lengths.sum()),))
    logp = model(x.to(device))
    input_lengths = torch.full((4,), logp.size(0), dtype=torch.long)
    loss = ctc(logp.cpu(), targets, input_lengths, target_lengths)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
