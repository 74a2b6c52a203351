import torch


class RBM:
    """Restricted Boltzmann machine, no autograd at all."""

    def __init__(self, n_vis, n_hid, k=1, lr=1e-2, use_cuda=True):
        self.k, self.lr, self.use_cuda = k, lr, use_cuda
        self.weights = torch.randn(n_vis, n_hid) * 0.1
        self.v_bias = torch.ones(n_vis) * 0.5
        self.h_bias = torch.zeros(n_hid)  # CAUSE
        if self.use_cuda:
            self.weights = self.weights.cuda()
            self.v_bias = self.v_bias.cuda()

    def sample_hidden(self, v):
        p = torch.sigmoid(torch.matmul(v, self.weights) + self.h_bias)  # FAIL
        return p

    def sample_visible(self, h):
        return torch.sigmoid(torch.matmul(h, self.weights.t()) + self.v_bias)

    def contrastive_divergence(self, data):
        ph = self.sample_hidden(data)
        acts = (ph >= torch.rand_like(ph)).float()
        positive = torch.matmul(data.t(), acts)
        h = acts
        for _ in range(self.k):
            v = self.sample_visible(h)
            h = self.sample_hidden(v)
        negative = torch.matmul(v.t(), h)
        self.weights += self.lr * (positive - negative) / data.size(0)
        self.v_bias += self.lr * (data - v).mean(0)
        self.h_bias += self.lr * (acts - h).mean(0)
        return ((data - v) ** 2).sum()


CUDA = torch.cuda.is_available()
rbm = RBM(12, 8, use_cuda=CUDA)
dataset = (torch.rand(40, 12) > 0.5).float()
for epoch in range(2):
    err = 0.0
    for start in range(0, 40, 10):
        batch = dataset[start:start + 10]
        if CUDA:
            batch = batch.cuda()
        err += rbm.contrastive_divergence(batch)
    print('Epoch Error (epoch=%d): %.4f' % (epoch, err))
