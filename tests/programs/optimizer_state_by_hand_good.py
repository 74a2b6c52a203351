import copy

import torch


def optimizer_to(opt, device):
    for state in opt.state.values():
        for k, v in state.items():
            if isinstance(v, torch.Tensor) and k != "step":
                state[k] = v.to(device)


cuda = torch.cuda.is_available()
net = torch.nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters())
net(torch.rand(2, 4)).sum().backward()
opt.step()
opt.zero_grad()
saved = copy.deepcopy(opt.state_dict())
if cuda:
    net = net.cuda()
    optimizer_to(opt, torch.device("cuda"))
x = torch.rand(2, 4)
if cuda:
    x = x.cuda()
net(x).sum().backward()
opt.step()
fresh = torch.optim.Adam(net.parameters())
fresh.load_state_dict(saved)
fresh.step()
print("stepped")
