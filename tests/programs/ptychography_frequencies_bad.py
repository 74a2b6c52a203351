import torch
from torch import fft


def phasor(phi):
    return torch.polar(torch.ones_like(phi), phi)


def grid(n, like):
    """Frequencies of an n x n picture, where `like` is."""
    f = fft.fftfreq(n)  # CAUSE
    return torch.cartesian_prod(f, f).reshape(n, n, 2)


def propagate(wave, distance):
    k = grid(wave.shape[-1], wave).square().sum(-1)
    return fft.ifft2(fft.fft2(wave) * phasor(-torch.pi * distance * k))  # FAIL


def shifts(probe_size, size, n, seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randint(0, size - probe_size, (n, 2), generator=g)


def measure(obj, probe, where):
    s = probe.shape[-1]
    views = torch.stack([obj[i:i + s, j:j + s] for i, j in where.tolist()])
    return propagate(views * probe, 0.7).abs()


def reconstruct(data, probe, where, size, steps=5):
    phase = torch.zeros(size, size, device=data.device, requires_grad=True)
    opt = torch.optim.Adam([phase], lr=0.1)
    history = []
    for _ in range(steps):
        opt.zero_grad()
        err = (measure(phasor(phase), probe, where) - data).square().mean()
        err.backward()
        opt.step()
        history.append(err.item())
    return phase.detach(), history


if __name__ == "__main__":
    dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    size, s = 16, 8
    probe = torch.outer(torch.hann_window(s), torch.hann_window(s)).to(torch.complex64).to(dev)
    truth = torch.rand(size, size).to(dev)
    where = shifts(s, size, 6, seed=5)
    data = measure(phasor(truth), probe, where)
    phase, history = reconstruct(data, probe, where, size)
    print(history[0] > history[-1], torch.view_as_real(phasor(phase)).shape)
