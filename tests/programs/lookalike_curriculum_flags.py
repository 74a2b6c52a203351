"""The same flag decides about the model, the data and the loss, through an object."""
from types import SimpleNamespace

import torch
from torch import nn

opt = SimpleNamespace(gpu_ids=[0] if torch.cuda.is_available() else [], lr=0.01, iters=3)


def init_net(net, gpu_ids):
    if len(gpu_ids) > 0:
        assert torch.cuda.is_available()
        net.to(gpu_ids[0])
    return net


class BaseModel:
    def __init__(self, opt):
        self.gpu_ids = opt.gpu_ids
        self.device = torch.device("cuda:{}".format(self.gpu_ids[0])) if self.gpu_ids else torch.device("cpu")
        self.net = init_net(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4)), self.gpu_ids)
        self.criterion = nn.L1Loss()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=opt.lr)

    def set_input(self, input):
        self.real_A = input["A"].to(self.device)
        self.real_B = input["B"].to(self.device)

    def forward(self):
        self.fake_B = self.net(self.real_A)

    def optimize_parameters(self):
        self.forward()
        self.loss = self.criterion(self.fake_B, self.real_B)
        self.optimizer.zero_grad()
        self.loss.backward()
        self.optimizer.step()

    def get_current_visuals(self):
        return {"fake_B": self.fake_B.detach().cpu().numpy(), "real_B": self.real_B.cpu().numpy()}


torch.manual_seed(0)
model = BaseModel(opt)
for i in range(opt.iters):
    a = torch.rand(6, 4)
    model.set_input({"A": a, "B": a.flip(1), "paths": ["x"] * 6})
    model.optimize_parameters()
    visuals = model.get_current_visuals()
    print(i, model.loss.item(), abs(visuals["fake_B"] - visuals["real_B"]).max())
