"""What libraries hand to the hooks of their users' classes: it is where they have brought it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

Ways = Sequence[tuple[str | tuple[str, ...], list[str]]]

CASES: dict[str, tuple[str, Ways]] = {
    "the loss of a Trainer": (
        """
        import torch
        from torch import nn
        from transformers import Trainer

        class Weighted(Trainer):
            def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
                labels = inputs.pop("labels")
                outputs = model(**inputs)
                criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 3.0]{0}))
                return criterion(outputs.logits.view(-1, 2), labels.view(-1))
        """,
        [("", ["TDV001"]), (", device=labels.device", []), (", device=model.device", [])],
    ),
    "weights that a Trainer keeps": (
        """
        import torch
        from torch import nn
        from transformers import {0}

        class Weighted({0}):
            def __init__(self, *args, class_weights=None, **kwargs):
                super().__init__(*args, **kwargs)
                self.class_weights = torch.tensor(class_weights, dtype=torch.float){1}

            def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
                outputs = model(**inputs)
                logits = outputs.get("logits")
                return nn.functional.cross_entropy(logits, inputs.get("labels"), weight=self.class_weights)
        """,
        [
            (("Seq2SeqTrainer", ""), ["TDV004"]),
            (("Seq2SeqTrainer", ".to(self.args.device)"), []),
            (("TrainerCallback", ""), []),
        ],
    ),
    "a Trainer that is told to stay on the CPU": (
        """
        import torch
        from transformers import Trainer, TrainingArguments

        class Noisy(Trainer):
            def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
                logits = model(**inputs).logits
                return (logits + torch.randn(2, 2)).mean()

        arguments = TrainingArguments("out"{0})
        """,
        [("", ["TDV005"]), (", use_cpu=True", [])],
    ),
    "a processor of logits": (
        """
        import torch
        from transformers import LogitsProcessor

        class Ban(LogitsProcessor):
            def __init__(self, vocabulary, banned):
                self.mask = torch.zeros(vocabulary, dtype=torch.bool)
                self.mask[banned] = True

            def __call__(self, input_ids, scores):
                return scores.masked_fill(self.mask{0}, float("-inf"))
        """,
        [("", ["TDV004"]), (".to(scores.device)", []), (".to(input_ids.device)", [])],
    ),
    "ids that a stopping criterion looks for": (
        """
        import torch
        from transformers import StoppingCriteria

        class Stop(StoppingCriteria):
            def __init__(self, ids):
                self.stop = [torch.tensor(one) for one in ids]

            def __call__(self, input_ids, scores, **kwargs):
                return any(torch.equal(input_ids[0][-len(one):], one{0}) for one in self.stop)
        """,
        [("", ["TDV004"]), (".to(input_ids.device)", [])],
    ),
    "what a callback is handed": (
        """
        import matplotlib.pyplot as plt
        import torch
        from lightning.pytorch.callbacks import Callback

        class Show(Callback):
            def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
                x, y = batch
                shown = pl_module(x)
                drawn = pl_module(torch.randn(3, 4){0})
                plt.imshow(shown[0].detach(){1})
        """,
        [
            (("", ""), ["TDV001", "TDV010"]),
            ((".to(pl_module.device)", ".cpu()"), []),
            ((".to(pl_module.device)", ""), ["TDV010"]),
        ],
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_what_a_library_hands_over(what: str, told_each_way: Callable[[str, str, Ways], None]) -> None:
    told_each_way("", *CASES[what])
