import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.GRU(4, 8, batch_first=True).to(device)
head = nn.Linear(8, 2).to(device)
opt = torch.optim.Adam([*model.parameters(), *head.parameters()])
hidden_bank = torch.zeros(10, 8)
for step in range(4):
    ids = torch.randperm(10)[:4]
    x = torch.randn(4, 5, 4)
    y = torch.randint(0, 2, (4,))
    h0 = hidden_bank[ids].unsqueeze(0).to(device)
    out, hn = model(x.to(device), h0)
    loss = nn.functional.cross_entropy(head(out[:, -1]), y.to(device))
    opt.zero_grad()
    loss.backward()
    opt.step()
    hidden_bank[ids] = hn.detach().squeeze(0).cpu()
    print(step, loss.item())
