"""A trainer in the manner of Hugging Face: arguments, prepared inputs, callbacks, a gathered evaluation."""
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class TrainingArguments:
    per_device_batch_size: int = 8
    learning_rate: float = 5e-3
    num_train_epochs: int = 2
    use_cpu: bool = False
    label_names: list = field(default_factory=lambda: ["labels"])

    @property
    def device(self):
        if self.use_cpu or not torch.cuda.is_available():
            return torch.device("cpu")
        return torch.device("cuda:0")


class CopyTask(Dataset):
    def __init__(self, n, length=6, vocab=9):
        self.rows = torch.randint(1, vocab, (n, length))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return {"input_ids": self.rows[i], "labels": self.rows[i].flip(0), "idx": i}


class Reverser(nn.Module):
    def __init__(self, vocab=9, dim=24, length=6):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.randn(1, length, dim) * 0.1)
        self.mix = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, input_ids, labels=None):
        h = self.embed(input_ids) + self.pos
        h = h + self.mix(h, h, h, need_weights=False)[0]
        logits = self.lm_head(h)
        if labels is None:
            return (logits,)
        return nn.functional.cross_entropy(logits.transpose(1, 2), labels), logits


class Trainer:
    def __init__(self, model, args, train_dataset, eval_dataset):
        self.args = args
        self.model = self._move_model_to_device(model, args.device)
        self.train_dataset, self.eval_dataset = train_dataset, eval_dataset
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.learning_rate)

    def _move_model_to_device(self, model, device):
        model = model.to(device)
        return model

    def _prepare_input(self, data):
        if isinstance(data, dict):
            return type(data)({k: self._prepare_input(v) for k, v in data.items()})
        if isinstance(data, torch.Tensor):
            return data.to(device=self.args.device)
        return data

    def compute_loss(self, inputs):
        inputs.pop("idx")
        return self.model(**inputs)

    def training_step(self, inputs):
        self.model.train()
        inputs = self._prepare_input(inputs)
        loss = self.compute_loss(inputs)[0]
        loss.backward()
        return loss.detach()

    def train(self):
        tr_loss = torch.tensor(0.0).to(self.args.device)
        steps = 0
        for _ in range(self.args.num_train_epochs):
            for inputs in DataLoader(self.train_dataset, self.args.per_device_batch_size):
                tr_loss += self.training_step(inputs)
                self.optimizer.step()
                self.optimizer.zero_grad()
                steps += 1
        return tr_loss.item() / steps

    def evaluate(self):
        self.model.eval()
        all_preds, all_labels = [], []
        losses = torch.zeros(0, device=self.args.device)
        for inputs in DataLoader(self.eval_dataset, self.args.per_device_batch_size):
            inputs = self._prepare_input(inputs)
            with torch.no_grad():
                loss, logits = self.compute_loss(inputs)
            losses = torch.cat([losses, loss.repeat(len(logits))])
            all_preds.append(logits.argmax(-1).cpu().numpy())
            all_labels.append(inputs["labels"].cpu().numpy())
        accuracy = (np.concatenate(all_preds) == np.concatenate(all_labels)).mean()
        return {"eval_loss": losses.mean().item(), "accuracy": float(accuracy)}


torch.manual_seed(13)
trainer = Trainer(Reverser(), TrainingArguments(), CopyTask(64), CopyTask(16))
print("train loss", trainer.train() > 0)
metrics = trainer.evaluate()
print(sorted(metrics), 0 <= metrics["accuracy"] <= 1)
