import torch
from torch import nn


class Seeded:
    def __init__(self, seed):
        self.gen = torch.Generator()  # CAUSE
        self.gen.manual_seed(seed)

    def normal(self, shape, device):
        return torch.randn(shape, generator=self.gen, device=device)  # FAIL

    def perm(self, n):
        return torch.randperm(n, generator=self.gen)


class ES:
    """evolution strategies, antithetic"""
    def __init__(self, model, sigma=0.1, lr=0.05, pop=4, seed=0):
        self.model, self.sigma, self.lr, self.pop = model, sigma, lr, pop
        self.rng = Seeded(seed)

    def flat(self):
        return nn.utils.parameters_to_vector(self.model.parameters())

    def assign(self, v):
        nn.utils.vector_to_parameters(v, self.model.parameters())

    @torch.no_grad()
    def step(self, fitness):
        theta = self.flat()
        noise = self.rng.normal((self.pop, theta.numel()), theta.device)  # CALL
        scores = []
        for eps in torch.cat([noise, -noise]):
            self.assign(theta + self.sigma * eps)
            scores.append(fitness(self.model))
        s = torch.tensor(scores, device=theta.device)
        s = (s - s.mean()) / (s.std() + 1e-8)
        self.assign(theta + self.lr / (2 * self.pop * self.sigma) * ((s[: self.pop] - s[self.pop :]) @ noise))
        return max(scores)


def fitness_on(x, y):
    return lambda m: -nn.functional.mse_loss(m(x), y).item()


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1)).to(device)
x = torch.randn(16, 2)
x = x[Seeded(1).perm(16)].to(device)
es = ES(net)
for _ in range(2):
    print(es.step(fitness_on(x, x.sum(1, keepdim=True))))  # CALL
