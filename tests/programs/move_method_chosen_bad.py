import torch

gpu = torch.cuda.is_available()
tensors = torch.rand(4, 3), torch.rand(4, 3), torch.randint(3, (4,))
if gpu:
    tensors = tuple(t.cuda() for t in tensors)
anchor, positive, label = tensors
net = torch.nn.Linear(3, 5)
(net.cuda if gpu else net.cpu)()
a, p = net(anchor), net(positive)
logits = a @ p.t()
eye = torch.arange(4)  # CAUSE
loss = torch.nn.functional.cross_entropy(logits, eye)  # FAIL
print(loss.ndim, label.bincount().shape)
