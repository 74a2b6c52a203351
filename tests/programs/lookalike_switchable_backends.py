"""Numpy or torch chosen by name; the same code for both."""
import numpy as np
import torch


class NumpyOps:
    name = "numpy"

    def array(self, values):
        return np.asarray(values, dtype=np.float32)

    def randn(self, *shape):
        return np.random.randn(*shape).astype(np.float32)

    def zeros(self, *shape):
        return np.zeros(shape, dtype=np.float32)

    def to_numpy(self, x):
        return x


class TorchOps:
    name = "torch"

    def __init__(self, device=None):
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")

    def array(self, values):
        return torch.as_tensor(values, dtype=torch.float32, device=self.device)

    def randn(self, *shape):
        return torch.randn(*shape, device=self.device)

    def zeros(self, *shape):
        return torch.zeros(shape, device=self.device)

    def to_numpy(self, x):
        return x.detach().cpu().numpy()


def power_iteration(ops, matrix, steps=20):
    a = ops.array(matrix)
    v = ops.randn(a.shape[1], 1)
    trace = ops.zeros(steps)
    for i in range(steps):
        v = a @ v
        norm = (v * v).sum() ** 0.5
        v = v / norm
        trace[i] = norm
    return ops.to_numpy(v), ops.to_numpy(trace)


def kmeans(ops, points, k, steps=5):
    x = ops.array(points)
    centres = x[:k] + 0.0
    for _ in range(steps):
        distance = ((x[:, None] - centres[None]) ** 2).sum(-1)
        label = distance.argmin(1)
        for j in range(k):
            member = label == j
            if member.any():
                centres[j] = x[member].mean(0)
    return ops.to_numpy(centres), ops.to_numpy(label)


matrix = np.diag([3.0, 1.0, 0.5]) + 0.01
points = np.random.default_rng(0).normal(size=(30, 2))
results = []
for ops in (NumpyOps(), TorchOps(), TorchOps("cpu")):
    vector, trace = power_iteration(ops, matrix)
    centres, label = kmeans(ops, points, 3)
    results.append(centres)
    print(ops.name, np.abs(vector).argmax(), trace[-1].round(3), np.bincount(label))
print(np.abs(results[0] - results[1]).max() < 1e-3)
