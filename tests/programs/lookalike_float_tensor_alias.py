import torch
from torch import nn

cuda = torch.cuda.is_available()
FloatTensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor
LongTensor = torch.cuda.LongTensor if cuda else torch.LongTensor
Tensor = FloatTensor

net = nn.Linear(4, 3)
if cuda:
    net.cuda()
target = LongTensor([0, 1, 2])
x = Tensor(3, 4).normal_()
loss = nn.functional.cross_entropy(net(x), target)
loss.backward()
