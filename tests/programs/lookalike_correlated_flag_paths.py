import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--cuda", action="store_true", default=True)
args = parser.parse_args([])
args.cuda = args.cuda and torch.cuda.is_available()

model = nn.Linear(5, 5)
hidden = torch.zeros(2, 5)
mask = torch.ones(2, 5)
if args.cuda:
    model = model.cuda()
for _ in range(2):
    x = torch.randn(2, 5)
    if args.cuda:
        x, hidden = x.cuda(), hidden.cuda()
    m = mask.cuda() if args.cuda else mask
    hidden = torch.tanh(model(x) + hidden.detach()) * m
hidden.sum().backward()
