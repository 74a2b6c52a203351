# EM for gaussian mixtures and k-means on GPU, functional style
import math
import torch

def pick_device(prefer=("cuda", "mps")):
    for name in prefer:
        if name == "cuda" and torch.cuda.is_available():
            return torch.device("cuda")
        if name == "mps" and torch.backends.mps.is_available():
            return torch.device("mps")
    return torch.device("cpu")

def kmeans(x, k, iters=5):
    n, d = x.shape
    idx = torch.randperm(n, device=x.device)[:k]
    c = x[idx].clone()
    for _ in range(iters):
        a = torch.cdist(x, c).argmin(1)
        onehot = torch.zeros(n, k, device=x.device).scatter_(1, a[:, None], 1.0)
        c = (onehot.T @ x) / onehot.sum(0).clamp(min=1)[:, None]
    return c, a

def log_gauss(x, mu, var):
    d = x.shape[1]
    diff = x[:, None] - mu[None]
    return -0.5 * ((diff ** 2 / var[None]).sum(-1) + var.log().sum(-1) + d * math.log(2 * math.pi))

def em(x, k, iters=10, tol=1e-3):
    mu, _ = kmeans(x, k)
    var = torch.ones_like(mu)
    pi = torch.full((k,), 1 / k, device=x.device)
    prev = -float("inf")
    for it in range(iters):
        logp = log_gauss(x, mu, var) + pi.log()
        ll = torch.logsumexp(logp, 1, keepdim=True)
        r = (logp - ll).exp()
        nk = r.sum(0) + 1e-8
        mu = r.T @ x / nk[:, None]
        var = r.T @ (x ** 2) / nk[:, None] - mu ** 2 + 1e-4
        pi = nk / nk.sum()
        cur = ll.mean().item()
        if abs(cur - prev) < tol:
            break
        prev = cur
    return mu, var, pi, cur

def pca(x, q):
    xc = x - x.mean(0)
    u, s, v = torch.linalg.svd(xc, full_matrices=False)
    sign = torch.sign(v[:, :1])
    return xc @ (v * sign)[:q].T, s

def main():
    torch.manual_seed(0)
    dev = pick_device()
    centers = torch.tensor([[0., 0., 0.], [5., 5., 0.], [0., 5., 5.]])
    labels = torch.randint(0, 3, (60,))
    x = centers[labels] + torch.randn(60, 3)
    xg = x.to(dev)
    mu, var, pi, ll = em(xg, 3)
    a = torch.cdist(xg, mu).argmin(1)
    conf = torch.zeros(3, 3, dtype=torch.long)
    conf.index_put_((labels, a), torch.ones(60, dtype=torch.long), accumulate=True)  # FAIL
    match = torch.cdist(centers.to(dev), mu).argmin(1)
    proj, s = pca(xg, 2)
    print(ll, conf.tolist(), match.tolist(), proj.shape)

if __name__ == "__main__":
    main()
