import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def image_loader(size):
    image = torch.rand(1, 3, size, size)
    return image.to(device, torch.float)


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


class ContentLoss(nn.Module):
    def __init__(self, target):
        super(ContentLoss, self).__init__()
        self.target = target.detach()

    def forward(self, input):
        self.loss = F.mse_loss(input, self.target)
        return input


class Normalization(nn.Module):
    def __init__(self, mean, std):
        super(Normalization, self).__init__()
        self.mean = torch.tensor(mean).view(-1, 1, 1)  # CAUSE
        self.std = torch.tensor(std).view(-1, 1, 1)  # CAUSE

    def forward(self, img):
        return (img - self.mean) / self.std  # FAIL


cnn = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1)).to(device).eval()
normalization = Normalization([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]).to(device)
content_img = image_loader(8)
input_img = content_img.clone()
content_loss = ContentLoss(cnn(normalization(content_img)).detach())  # CALL
input_img.requires_grad_(True)
optimizer = torch.optim.Adam([input_img])
for _ in range(2):
    optimizer.zero_grad()
    content_loss(cnn(normalization(input_img)))
    content_loss.loss.backward()
    optimizer.step()
print("style")
