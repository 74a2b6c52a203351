"""A miniature of a config-driven toolbox: registries, a runner, hooks."""
import inspect
import time
from collections import OrderedDict

import torch
import torch.nn as nn


class Registry:
    def __init__(self, name):
        self._name = name
        self._modules = {}

    def register_module(self, name=None):
        def _register(cls):
            self._modules[name or cls.__name__] = cls
            return cls
        return _register

    def build(self, cfg, **default_args):
        args = dict(cfg)
        obj_type = args.pop("type")
        for k, v in default_args.items():
            args.setdefault(k, v)
        return self._modules[obj_type](**args)


BACKBONES = Registry("backbone")
HEADS = Registry("head")
LOSSES = Registry("loss")
HOOKS = Registry("hook")


@BACKBONES.register_module()
class TinyNet(nn.Module):
    def __init__(self, channels, depth=2):
        super().__init__()
        self.layers = []
        for i in range(depth):
            layer = nn.Conv2d(3 if i == 0 else channels, channels, 3, padding=1)
            name = f"conv{i}"
            self.add_module(name, layer)
            self.layers.append(name)

    def forward(self, x):
        for name in self.layers:
            x = getattr(self, name)(x).relu()
        return x.mean((2, 3))


@LOSSES.register_module()
class WeightedCE(nn.Module):
    def __init__(self, class_weight=None, loss_weight=1.0):
        super().__init__()
        self.loss_weight = loss_weight
        self.class_weight = class_weight

    def forward(self, pred, target):
        weight = None
        if self.class_weight is not None:
            weight = pred.new_tensor(self.class_weight)
        return self.loss_weight * nn.functional.cross_entropy(pred, target, weight=weight)


@HEADS.register_module()
class LinearHead(nn.Module):
    def __init__(self, in_channels, num_classes, loss):
        super().__init__()
        self.fc = nn.Linear(in_channels, num_classes)
        self.loss_module = LOSSES.build(loss)

    def forward(self, x):
        return self.fc(x)

    def loss(self, x, gt_label):
        cls_score = self(x)
        losses = OrderedDict(loss_cls=self.loss_module(cls_score, gt_label))
        losses["acc"] = (cls_score.argmax(1) == gt_label).float().mean()
        return losses


class Classifier(nn.Module):
    def __init__(self, backbone, head):
        super().__init__()
        self.backbone = BACKBONES.build(backbone)
        self.head = HEADS.build(head)

    def forward(self, img, return_loss=True, **kwargs):
        if return_loss:
            return self.forward_train(img, **kwargs)
        return self.simple_test(img)

    def forward_train(self, img, gt_label):
        return self.head.loss(self.backbone(img), gt_label)

    def simple_test(self, img):
        pred = self.head(self.backbone(img)).softmax(1)
        return list(pred.detach().cpu().numpy())

    def train_step(self, data):
        losses = self(**data)
        loss = sum(v for k, v in losses.items() if "loss" in k)
        return dict(loss=loss, log_vars={k: v.item() for k, v in losses.items()}, num_samples=len(data["img"]))


class Hook:
    def before_run(self, runner): pass
    def before_iter(self, runner): pass
    def after_iter(self, runner): pass
    def after_run(self, runner): pass


@HOOKS.register_module()
class OptimizerHook(Hook):
    def __init__(self, max_norm=1.0):
        self.max_norm = max_norm

    def after_iter(self, runner):
        runner.optimizer.zero_grad()
        runner.outputs["loss"].backward()
        nn.utils.clip_grad_norm_(runner.model.parameters(), self.max_norm)
        runner.optimizer.step()


@HOOKS.register_module()
class EMAHook(Hook):
    def __init__(self, momentum=0.1):
        self.momentum = momentum

    def before_run(self, runner):
        self.shadow = {k: v.detach().clone() for k, v in runner.model.state_dict().items()}

    def after_iter(self, runner):
        for k, v in runner.model.state_dict().items():
            self.shadow[k].mul_(1 - self.momentum).add_(v, alpha=self.momentum)


class Runner:
    def __init__(self, model, optimizer, max_iters, device):
        self.model, self.optimizer, self.max_iters, self.device = model, optimizer, max_iters, device
        self.hooks = []
        self.iter = 0
        self.outputs = {}

    def register_hook(self, cfg):
        self.hooks.append(HOOKS.build(cfg))

    def call_hook(self, name):
        for hook in self.hooks:
            getattr(hook, name)(self)

    def run(self, loader):
        self.model.train()
        self.call_hook("before_run")
        for data in loader:
            if self.iter >= self.max_iters:
                break
            self.call_hook("before_iter")
            data = {k: v.to(self.device) for k, v in data.items()}
            self.outputs = self.model.train_step(data)
            self.call_hook("after_iter")
            self.iter += 1
        self.call_hook("after_run")


cfg = dict(
    model=dict(backbone=dict(type="TinyNet", channels=6),
               head=dict(type="LinearHead", in_channels=6, num_classes=3,
                         loss=dict(type="WeightedCE", class_weight=[1.0, 2.0, 0.5]))),
    hooks=[dict(type="OptimizerHook"), dict(type="EMAHook")],
)


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Classifier(**cfg["model"]).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = [dict(img=torch.rand(2, 3, 6, 6), gt_label=torch.randint(0, 3, (2,))) for _ in range(4)]
    runner = Runner(model, optimizer, 3, device)
    for h in cfg["hooks"]:
        runner.register_hook(h)
    runner.run(data)
    model.eval()
    print(len(model(torch.rand(2, 3, 6, 6).to(device), return_loss=False)), runner.iter)


if __name__ == "__main__":
    main()
