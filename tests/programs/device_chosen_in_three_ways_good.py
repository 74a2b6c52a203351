import torch


def choose():
    if torch.cuda.is_available():
        return torch.device("cuda")
    mps = getattr(torch.backends, "mps", None)
    if mps is not None and mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


DEVICE = choose()
PIN = DEVICE.type == "cuda"
NET = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Softmax(-1)).to(DEVICE)


def loop(n):
    ys = []
    for x in torch.utils.data.DataLoader(torch.rand(n, 3), batch_size=2, pin_memory=PIN):
        ys.append(NET(x.to(DEVICE, non_blocking=PIN)))
    return torch.cat(ys)


probs = loop(5)
host = probs.cpu() if PIN or DEVICE.type == "mps" else probs
print((host * torch.arange(3)).shape)
