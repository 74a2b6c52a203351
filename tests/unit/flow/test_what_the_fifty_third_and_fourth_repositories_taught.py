"""What a fifty-third and a fifty-fourth batch of repositories taught, and programs that use libraries: look-alikes beside mistakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

CASES: dict[str, tuple[str, Ways]] = {
    "a trainer of a library that is derived from moves the model": (
        """
        import torch
        from torch import nn
        from {0} import {1}

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.classifier = nn.Linear(4, 2)
            def forward(self, ids):
                return self.classifier(ids)

        class Mine({1}):
            {2}

        net = Net()
        trainer = Mine(model=net, args=None)
        trainer.train()
        print(net(torch.zeros(1, 4, device="cuda")))
        """,
        [
            (("transformers", "Trainer", "epochs = 3"), []),
            (
                (
                    "transformers",
                    "Trainer",
                    "def __init__(self, *args, **kwargs):\n        super().__init__(*args, **kwargs)",
                ),
                [],
            ),
            (
                (
                    "transformers",
                    "Trainer",
                    "def __init__(self, *args, **kwargs):\n        self.args = args",
                ),
                ["TDV001"],
            ),
            (("threading", "Thread", "epochs = 3"), ["TDV001"]),
        ],
    ),
    "what a function makes for NumPy is made on the CPU": (
        """
        import torch

        def picture_of(label):
            colored = torch.zeros(3, label.size(1), label.size(2)).byte()
            for i in range(4):
                mask = label.eq(i)
                colored[0].masked_fill_(mask, i)
            return {0}
        """,
        [("colored.numpy()", []), ("colored.double().sum()", ["TDV005"])],
    ),
    "a parameter that is a string by default only": (
        """
        import torch
        from torch import nn

        class Layer(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.register_buffer("w", torch.zeros(n))
                self.grid = self.grids((13, 13))

            def grids(self, ng=(13, 13), device="cpu"):
                if self.w.device != device:
                    self.w = self.w.to(device)
                return torch.arange(ng[0], device=device)

            def forward(self, x):
                self.grid = self.grids({0})
                return x * self.grid
        """,
        [("(13, 13), x.device", []), ("(13, 13)", ["TDV012"])],
    ),
    "the default tensor type where the program chooses its device": (
        """
        import torch
        from torch import nn

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

        def train():
            net = nn.Linear(3, 3).to(device)
            return net(torch.zeros(2, 3))

        if __name__ == "__main__":
            {0}
            train()
        """,
        [
            ('torch.set_default_tensor_type("torch.cuda.FloatTensor")', ["TDV018"]),
            ("torch.set_default_tensor_type(torch.cuda.FloatTensor)", ["TDV018"]),
            (
                "if torch.cuda.is_available():\n        torch.set_default_tensor_type(torch.cuda.FloatTensor)",
                [],
            ),
            ("torch.set_default_tensor_type(torch.FloatTensor)", ["TDV001"]),
            ("torch.manual_seed(0)", ["TDV001"]),
        ],
    ),
    "an accelerator that a call hands over": (
        """
        import torch
        from torch import nn

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)
                self.reset(1, {0})
            def reset(self, batch, where):
                self.state = (torch.zeros(batch, 3).to(where), None)

        net = Net().to(device)
        """,
        [('"cuda"', ["TDV018"]), ("device", []), ('where="cuda"', ["TDV018"])],
    ),
    "constants for every accelerator that there may be": (
        """
        from torch import device

        CPU = device("cpu")
        CUDA_0 = device("cuda:0")
        {0}
        {1}
        """,
        [
            (('XPU_0 = device("xpu:0")', 'NPU_0 = device("npu:0")'), []),
            (('META = device("meta")', ""), ["TDV002"]),
        ],
    ),
    "a function that tries whether there is an accelerator": (
        """
        import torch

        def {0}():
            x = torch.rand(3, device="xpu:0")
            try:
                return bool(x.sum())
            except Exception:
                return False
        """,
        [("triton_xpu_available", []), ("first_sum", ["TDV002"])],
    ),
    "the current device for one that has no index": (
        """
        import torch

        def empty(x):
            if x.is_cuda:
                target = x.device if {0} else torch.device("cuda")
                return torch.zeros(3, device=target) + x
        """,
        [("x.device.index is not None", []), ("x.dim() > 1", ["TDV016"])],
    ),
    "a module that is only printed": (
        """
        import torch
        from torch import nn

        def run(n):
            dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            models = nn.Linear(3, 3)
            {0}
            for _ in range(n):
                model = nn.Linear(3, 3).to(dev)
                print(model(torch.zeros(2, 3).to(dev)))
        """,
        [("print(models)", []), ("print(models(torch.zeros(2, 3).to(dev)))", ["TDV001"])],
    ),
    "a map of devices in a dict of settings": (
        """
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        def run(name, walks):
            kwargs = {"torch_dtype": torch.bfloat16, {0}}
            model = AutoModelForCausalLM.from_pretrained(name, **kwargs).eval()
            for i in range(0, len(walks), 4):
                batch_ids = walks[i:i + 4].cuda()
                print(model(batch_ids, output_hidden_states=True))
        """,
        [('"device_map": "cuda"', []), ('"use_cache": False', ["TDV021"])],
    ),
    "ids for a language model": (
        """
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        device = "cuda" if torch.cuda.is_available() else "cpu"
        tokenizer = AutoTokenizer.from_pretrained("gpt2")

        def chat(prompt):
            model = AutoModelForCausalLM.from_pretrained("gpt2").to(device)
            inputs = tokenizer(prompt, return_tensors="pt")
            {0}
            return tokenizer.decode(model.generate({1}, max_new_tokens=10)[0])
        """,
        [
            (("", "**inputs"), ["TDV001"]),
            (("", "inputs.input_ids"), ["TDV001"]),
            (("", 'inputs["input_ids"].to(device)'), []),
            (("inputs = inputs.to(device)", "**inputs"), []),
            (("inputs = {k: v.to(device) for k, v in inputs.items()}", "**inputs"), []),
            (('inputs.data["input_ids"] = inputs.data["input_ids"].to(device)', "**inputs"), []),
        ],
    ),
    "where a map of devices puts a model": (
        """
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained("gpt2")

        def chat(prompt):
            model = AutoModelForCausalLM.from_pretrained("gpt2", device_map={0})
            return model.generate(**tokenizer(prompt, return_tensors="pt"){1})
        """,
        [
            (('"cuda"', ""), ["TDV001"]),
            (('{"": 0}', ""), ["TDV001"]),
            (('"cuda"', '.to("cuda")'), []),
            (('"auto"', ""), []),
            (('{"": 0}, load_in_8bit=True', ""), []),
            (('{"": 0, "lm_head": 1}', ""), []),
        ],
    ),
    "a model that gets adapters": (
        """
        import torch
        from peft import LoraConfig, {1}
        from transformers import AutoModelForCausalLM, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained("gpt2")

        def loss(prompt):
            model = AutoModelForCausalLM.from_pretrained("gpt2").cuda()
            model = {0}
            return model(**tokenizer(prompt, return_tensors="pt"){2})
        """,
        [
            (("get_peft_model(model, LoraConfig())", "get_peft_model", ""), ["TDV001"]),
            (('PeftModel.from_pretrained(model, "x")', "PeftModel", ""), ["TDV001"]),
            (("get_peft_model(model, LoraConfig())", "get_peft_model", ".to(model.device)"), []),
        ],
    ),
    "metrics count where they are": (
        """
        import torch
        from torch import nn
        from torchmetrics.classification import BinaryAUROC, MulticlassAccuracy

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

        def run(loader):
            metric = {0}
            net = nn.Linear(3, 3).to(device)
            for x, y in loader:
                x, y = x.to(device), y.to(device)
                metric.update({1}, {2})
            return metric.compute()
        """,
        [
            (("MulticlassAccuracy(3)", "net(x)", "y"), ["TDV001"]),
            (("MulticlassAccuracy(3).to(device)", "net(x)", "y"), []),
            (("MulticlassAccuracy(3)", "net(x).cpu()", "y.cpu()"), []),
            (("BinaryAUROC()", "net(x)", "y"), []),
        ],
    ),
    "an item of a batch that stays while another is moved": (
        """
        import torch
        import torch.nn.functional as F

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

        def run(model, loader):
            model.to(device)
            for batch in loader:
                {0}
                out = model({1})
                print(F.cross_entropy(out, batch["y"]).item())
        """,
        [
            (('x = batch["x"].to(device)', "x"), ["TDV004"]),
            (('batch["x"] = batch["x"].to(device)', 'batch["x"]'), []),
            (("batch = {k: v.to(device) for k, v in batch.items()}", 'batch["x"]'), []),
            (('x, weight = batch["x"].to(device), batch["y"].shape', "x"), []),
        ],
    ),
    "what has a method of arrays is an array": (
        """
        import numpy as np
        import torch
        from torch import nn

        def run(image):
            net = nn.Linear(3, 3).to("cuda")
            with torch.inference_mode():
                depth = net(image.to("cuda"))
            np.save("depth.npy", depth{0})
        """,
        [(".astype(np.float32)", []), (".squeeze()", ["TDV010"])],
    ),
    "what a model gives is where its input was brought": (
        """
        import torch
        from torch.nn import functional as F

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

        def evaluate(model, loader):
            model.eval()
            with torch.no_grad():
                for x in loader:
                    out = model({0})
                    print(out{1}.numpy())
        """,
        [
            (("x.to(device)", ""), ["TDV010"]),
            (("x.to(device)", ".cpu()"), []),
            (("x", ""), []),
            (("x.to(next(model.parameters()).device)", ""), []),
        ],
    ),
    "a part of a batch that is compared": (
        """
        import torch

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

        def right(model, loader):
            model.to(device)
            for x, y in loader:
                x = x.to(device)
                predicted = model(x).argmax(1)
                {0}
        """,
        [
            ("print((predicted == y).sum().item())", ["TDV004"]),
            ("print((predicted.cpu() == y).sum().item())", []),
            ("print((predicted == y.to(device)).sum().item())", []),
            ("print([predicted == y])", []),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_and_right(name: str, told_each_time: Callable[[str, Ways], None]) -> None:
    told_each_time(*CASES[name])
