import torch
import torch.nn as nn
import torch.nn.functional as F

epsilons = [0, 0.1]
use_cuda = True
device = torch.device("cuda" if use_cuda and torch.cuda.is_available() else "cpu")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 4)

    def forward(self, x):
        return F.log_softmax(self.fc(torch.flatten(x, 1)), dim=1)


def denorm(batch, mean=[0.1307], std=[0.3081]):
    if isinstance(mean, list):
        mean = torch.tensor(mean).to(device)
    if isinstance(std, list):
        std = torch.tensor(std).to(device)
    return batch * std.view(1, -1, 1, 1) + mean.view(1, -1, 1, 1)


def fgsm_attack(image, epsilon, data_grad):
    return torch.clamp(image + epsilon * data_grad.sign(), 0, 1)


def test(model, device, test_loader, epsilon):
    correct, adv_examples = 0, []
    for data, target in test_loader:
        data, target = data.to(device), target.to(device)
        data.requires_grad = True
        output = model(data)
        init_pred = output.max(1, keepdim=True)[1]
        loss = F.nll_loss(output, target)
        model.zero_grad()
        loss.backward()
        perturbed = fgsm_attack(denorm(data), epsilon, data.grad.data)
        output = model(perturbed)
        final_pred = output.max(1, keepdim=True)[1]
        if final_pred.item() == target.item():
            correct += 1
        adv_examples.append((init_pred.item(), final_pred.item(), perturbed.squeeze().detach().cpu().numpy()))
    return correct / float(len(test_loader)), adv_examples


loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.rand(3, 1, 4, 4), torch.randint(0, 4, (3,))), batch_size=1)
model = Net().to(device)
model.eval()
for eps in epsilons:
    acc, ex = test(model, device, loader, eps)
