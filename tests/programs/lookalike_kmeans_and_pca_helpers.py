"""k-means and PCA on whatever device the input lives on."""
import torch


def kmeans(x, k, iters=5, generator=None):
    idx = torch.randperm(len(x), generator=generator)[:k]
    centres = x[idx.to(x.device)].clone()
    for _ in range(iters):
        d = torch.cdist(x, centres)
        a = d.argmin(1)
        new = torch.zeros_like(centres).index_add_(0, a, x)
        n = torch.zeros(k, device=x.device).index_add_(0, a, x.new_ones(len(x)))
        centres = torch.where(n[:, None] > 0, new / n[:, None].clamp(min=1), centres)
    return a, centres


def pca(x, k):
    m = x.mean(0, keepdim=True)
    _, s, v = torch.linalg.svd(x - m, full_matrices=False)
    return (x - m) @ v[:k].T, s[:k]


def silhouette(x, a):
    d = torch.cdist(x, x)
    out = []
    for i in range(len(x)):
        same = a == a[i]
        out.append(d[i][same].mean() - d[i][~same].mean() if (~same).any() else d.new_tensor(0.))
    return torch.stack(out).mean()


if __name__ == "__main__":
    g = torch.Generator().manual_seed(0)
    pts = torch.cat([torch.randn(20, 4, generator=g) + c for c in (-3, 0, 3)])
    for dev in ["cpu"] + (["cuda"] if torch.cuda.is_available() else []):
        p = pts.to(dev)
        a, c = kmeans(p, 3, generator=g)
        y, s = pca(p, 2)
        print(dev, a.bincount(minlength=3).tolist(), c.shape, s.tolist(), silhouette(y, a).item())
