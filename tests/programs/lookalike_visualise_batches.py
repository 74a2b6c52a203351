import numpy as np
import torch
from torch import nn


def imshow(inp):
    inp = inp.numpy().transpose((1, 2, 0))
    return np.clip(np.array([0.2, 0.2, 0.2]) * inp + 0.4, 0, 1)


device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
model = nn.Sequential(nn.Flatten(), nn.Linear(12, 2)).to(device)
shown = 0
for inputs, labels in [(torch.rand(4, 3, 2, 2), torch.zeros(4).long())]:
    inputs = inputs.to(device)
    _, preds = torch.max(model(inputs), 1)
    for j in range(inputs.size()[0]):
        imshow(inputs.cpu().data[j])
        shown += int(preds[j] == labels.to(device)[j])
print(shown >= 0)
