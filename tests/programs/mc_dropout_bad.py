import torch
from torch import nn

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


def enable_dropout(m):
    for each in m.modules():
        if each.__class__.__name__.startswith("Dropout"):
            each.train()


def mc_predict(net, inputs, n_samples=5):
    net.eval()
    enable_dropout(net)
    outs = []
    with torch.no_grad():
        for _ in range(n_samples):
            outs.append(torch.softmax(net(inputs), dim=-1))
    stacked = torch.stack(outs)
    mean = stacked.mean(0)
    entropy = -(mean * torch.log(mean + 1e-12)).sum(-1)
    return mean, entropy


if __name__ == "__main__":
    torch.manual_seed(1)
    X = torch.randn(50, 6)  # CAUSE
    Y = (X[:, 0] > 0).long()
    net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.4), nn.Linear(32, 2)).to(device)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(X.to(device)), Y.to(device))
        loss.backward()
        opt.step()
    mean, entropy = mc_predict(net, X.to(device))
    correct = mean.argmax(-1) == Y  # FAIL
    order = entropy.sort(descending=True).indices
    print(correct.float().mean().item(), order[:5].tolist())
