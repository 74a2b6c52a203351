"""Detections come from a network, the tracks live on the host in float64."""
import torch
from torch import nn

HOST = torch.device("cpu")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Kalman:
    F = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=torch.float64)
    H = torch.eye(2, 4, dtype=torch.float64)

    def __init__(self, z, q=1e-2, r=1e-1):
        self.x = torch.cat([z, torch.zeros(2, dtype=z.dtype)])
        self.P = torch.eye(4, dtype=torch.float64)
        self.Q, self.R = q * torch.eye(4, dtype=torch.float64), r * torch.eye(2, dtype=torch.float64)

    def predict(self):
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q
        return self.x[:2]

    def gate(self, z):
        S = self.H @ self.P @ self.H.T + self.R
        d = z - self.H @ self.x
        return torch.einsum("ni,ij,nj->n", d, torch.linalg.inv(S), d)

    def update(self, z):
        S = self.H @ self.P @ self.H.T + self.R
        K = self.P @ self.H.T @ torch.linalg.inv(S)
        self.x = self.x + K @ (z - self.H @ self.x)
        self.P = (torch.eye(4, dtype=torch.float64) - K @ self.H) @ self.P


class Track(Kalman):
    counter = 0

    def __init__(self, z, feature):
        super().__init__(z)
        Track.counter += 1
        self.id, self.missed, self.feature = Track.counter, 0, feature

    def refresh(self, z, feature):
        self.update(z)
        self.feature = nn.functional.normalize(0.9 * self.feature + 0.1 * feature, dim=0)
        self.missed = 0


class Tracker:
    def __init__(self, gate=25.0, keep=2):
        self.tracks, self.limit, self.keep = [], gate, keep

    def step(self, pos, feats):
        for t in self.tracks:
            t.predict()
        free = list(range(len(pos)))
        for t in sorted(self.tracks, key=lambda t: t.missed):
            if not free:
                t.missed += 1
                continue
            cost = t.gate(pos[free]) + 5 * (1 - feats[free] @ t.feature)
            j = int(cost.argmin())
            if cost[j] < self.limit:
                k = free.pop(j)
                t.refresh(pos[k], feats[k])
            else:
                t.missed += 1
        self.tracks = [t for t in self.tracks if t.missed <= self.keep]
        self.tracks += [Track(pos[k], feats[k]) for k in free]


class Peaks(nn.Module):
    def __init__(self):
        super().__init__()
        self.heat = nn.Conv2d(1, 1, 3, padding=1, bias=False)
        self.emb = nn.Conv2d(1, 4, 3, padding=1)
        nn.init.constant_(self.heat.weight, 1 / 9)

    @torch.no_grad()
    def forward(self, frame, k):
        h = self.heat(frame)
        h = h * (nn.functional.max_pool2d(h, 3, 1, 1) == h)
        idx = h.flatten().topk(k).indices
        w = frame.shape[-1]
        pos = torch.stack([idx // w, idx % w], 1)
        f = self.emb(frame)[0].flatten(1)[:, idx].T
        return pos.to(HOST, torch.float64), nn.functional.normalize(f, dim=1).to(HOST, torch.float64)


def frames(n, size=24):
    p = torch.tensor([[4.0, 4.0], [18.0, 6.0]])
    v = torch.tensor([[1.0, 1.2], [-1.0, 0.8]])
    for _ in range(n):
        img = torch.zeros(1, 1, size, size)
        for y, x in p.round().long().tolist():
            img[..., y - 1:y + 2, x - 1:x + 2] = 1
        yield img
        p = p + v


net, tracker = Peaks().to(DEVICE), Tracker()
for frame in frames(8):
    tracker.step(*net(frame.to(DEVICE), 2))
print([(t.id, t.x.numpy().round(1).tolist(), t.missed) for t in tracker.tracks])
