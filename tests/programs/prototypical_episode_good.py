import torch
from torch import nn


def euclidean_dist(x, y):
    n, m, d = x.size(0), y.size(0), x.size(1)
    return torch.pow(x.unsqueeze(1).expand(n, m, d) - y.unsqueeze(0).expand(n, m, d), 2).sum(2)


class Protonet(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def loss(self, sample):
        xs, xq = sample["xs"], sample["xq"]
        n_class, n_support, n_query = xs.size(0), xs.size(1), xq.size(1)
        target_inds = torch.arange(0, n_class).view(n_class, 1, 1).expand(n_class, n_query, 1).long()
        target_inds = target_inds.to(xq.device)
        x = torch.cat([xs.reshape(n_class * n_support, -1), xq.reshape(n_class * n_query, -1)], 0)
        z = self.encoder(x)
        z_proto = z[: n_class * n_support].view(n_class, n_support, -1).mean(1)
        dists = euclidean_dist(z[n_class * n_support :], z_proto)
        log_p = torch.log_softmax(-dists, dim=1).view(n_class, n_query, -1)
        return -log_p.gather(2, target_inds).squeeze().view(-1).mean()


device = torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")
model = Protonet(nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 4)))
model.to(device)
episode = {"xs": torch.randn(3, 2, 5), "xq": torch.randn(3, 4, 5)}
episode = {k: v.to(device) for k, v in episode.items()}
model.loss(episode).backward()
