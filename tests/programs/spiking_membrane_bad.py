"""spiking network with surrogate gradients"""
import torch
import torch.nn as nn

dtype = torch.float
device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
nb_inputs, nb_hidden, nb_outputs, nb_steps, batch_size = 10, 6, 2, 8, 4
time_step = 1e-3
alpha, beta = 0.8, 0.9


class SurrGradSpike(torch.autograd.Function):
    scale = 100.0

    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        out = torch.zeros_like(input)
        out[input > 0] = 1.0
        return out

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        return grad_output / (SurrGradSpike.scale * torch.abs(input) + 1.0) ** 2


spike_fn = SurrGradSpike.apply
w1 = torch.empty((nb_inputs, nb_hidden), device=device, dtype=dtype, requires_grad=True)
torch.nn.init.normal_(w1, mean=0.0, std=0.5)
w2 = torch.empty((nb_hidden, nb_outputs), device=device, dtype=dtype, requires_grad=True)
torch.nn.init.normal_(w2, mean=0.0, std=0.5)


def run_snn(inputs):
    h1 = torch.einsum("abc,cd->abd", (inputs, w1))
    syn = torch.zeros((batch_size, nb_hidden), device=device, dtype=dtype)
    mem = torch.zeros((batch_size, nb_hidden), dtype=dtype)  # CAUSE
    spk_rec = []
    for t in range(nb_steps):
        mthr = mem - 1.0
        out = spike_fn(mthr)
        rst = torch.zeros_like(mem)
        c = (mthr > 0)
        rst[c] = torch.ones_like(mem)[c]
        new_syn = alpha * syn + h1[:, t]
        new_mem = beta * mem + syn - rst  # FAIL
        spk_rec.append(out)
        mem, syn = new_mem, new_syn
    spk_rec = torch.stack(spk_rec, dim=1)
    h2 = torch.einsum("abc,cd->abd", (spk_rec, w2))
    flt = torch.zeros((batch_size, nb_outputs), device=device, dtype=dtype)
    out_rec = []
    for t in range(nb_steps):
        flt = beta * flt + h2[:, t]
        out_rec.append(flt)
    return torch.stack(out_rec, 1), spk_rec


freq = 5
prob = freq * time_step * 20
x_data = (torch.rand((batch_size, nb_steps, nb_inputs), device=device, dtype=dtype) < prob).float()
y_data = torch.tensor([0, 1, 0, 1], device=device)
opt = torch.optim.Adam([w1, w2], lr=2e-3)
for e in range(3):
    output, spk = run_snn(x_data)
    m, _ = torch.max(output, 1)
    reg = 1e-5 * torch.sum(spk) + 1e-5 * torch.mean(torch.sum(torch.sum(spk, dim=0), dim=0) ** 2)
    loss = nn.functional.nll_loss(nn.functional.log_softmax(m, dim=1), y_data) + reg
    opt.zero_grad(); loss.backward(); opt.step()
    print(e, loss.item())
print(spk.detach().cpu().numpy().sum())
