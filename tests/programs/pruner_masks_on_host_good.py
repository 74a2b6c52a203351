import copy
import torch
import torch.nn as nn
import torch.nn.functional as F


class Pruner:
    def __init__(self, model, skip=("head",)):
        self.model = model
        self.names = [n for n, p in model.named_parameters() if p.dim() > 1 and not n.startswith(skip)]
        params = dict(model.named_parameters())
        self.masks = {n: torch.ones_like(params[n], dtype=torch.bool) for n in self.names}

    def scores(self):
        params = dict(self.model.named_parameters())
        return {n: params[n].detach().abs() for n in self.names}

    def prune_to(self, sparsity):
        s = self.scores()
        flat = torch.cat([s[n][self.masks[n]] for n in self.names])
        total = sum(m.numel() for m in self.masks.values())
        k = int(sparsity * total) - (total - flat.numel())
        if k <= 0:
            return
        thr = flat.kthvalue(k).values
        for n in self.names:
            self.masks[n] &= s[n] > thr
        self.apply()

    @torch.no_grad()
    def apply(self):
        for n, p in self.model.named_parameters():
            if n in self.masks:
                p.mul_(self.masks[n])

    def mask_grads(self):
        for n, p in self.model.named_parameters():
            if n in self.masks and p.grad is not None:
                p.grad *= self.masks[n]

    def sparsity(self):
        total = sum(m.numel() for m in self.masks.values())
        return 1 - sum(m.sum().item() for m in self.masks.values()) / total


class SNIP(Pruner):
    def __init__(self, model, batch):
        super().__init__(model)
        self.batch = batch

    def scores(self):
        x, y = self.batch
        loss = F.cross_entropy(self.model(x), y)
        params = dict(self.model.named_parameters())
        grads = torch.autograd.grad(loss, [params[n] for n in self.names])
        return {n: (g * params[n]).abs().detach() for n, g in zip(self.names, grads)}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.head = nn.Linear(10, 32), nn.Linear(32, 32), nn.Linear(32, 3)

    def forward(self, x):
        return self.head(F.relu(self.fc2(F.relu(self.fc1(x)))))


def train(model, pruner, steps, device):
    opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for _ in range(steps):
        x = torch.randn(64, 10, device=device)
        y = x[:, :3].argmax(1)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        pruner.mask_grads()
        opt.step()
        pruner.apply()
    return loss.item()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = Net().to(device)
    rewind = {k: v.clone() for k, v in net.state_dict().items()}
    pr = Pruner(net)
    for target in (0.3, 0.5, 0.7):
        loss = train(net, pr, 4, device)
        pr.prune_to(target)
        print(f"{pr.sparsity():.2f} {loss:.3f}")
    net.load_state_dict(rewind)
    pr.apply()
    print("ticket", train(net, pr, 4, device))
    fresh = Net().to(device)
    x = torch.randn(32, 10).to(device)
    sn = SNIP(fresh, (x, x[:, :3].argmax(1)))
    sn.prune_to(0.5)
    print("snip", sn.sparsity(), train(fresh, sn, 4, device))
    dense = copy.deepcopy(net).cpu()
    csr = dense.fc1.weight.detach().to_sparse_csr()
    print(csr.values().numel(), (csr @ torch.randn(10, 2)).shape)


main()
