import torch
from torch import nn
from torch.utils.data import DataLoader


class PretrainedConfig(dict):
    __getattr__ = dict.__getitem__


class ModelOutput(dict):
    def __getattr__(self, k):
        return self.get(k)

    def __getitem__(self, k):
        return list(self.values())[k] if isinstance(k, int) else super().__getitem__(k)


class TinyBert(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.emb = nn.Embedding(config.vocab, config.dim)
        self.seg = nn.Embedding(2, config.dim)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(config.dim, 2, 32, batch_first=True), 2, enable_nested_tensor=False)
        self.classifier = nn.Linear(config.dim, config.labels)

    @property
    def device(self):
        return self.emb.weight.device

    def forward(self, input_ids, attention_mask=None, token_type_ids=None, labels=None):
        if attention_mask is None:
            attention_mask = torch.ones(input_ids.shape, device=input_ids.device)
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        h = self.layers(self.emb(input_ids) + self.seg(token_type_ids), src_key_padding_mask=attention_mask == 0)
        out = ModelOutput(logits=self.classifier(h[:, 0]), last_hidden_state=h)
        if labels is not None:
            out = ModelOutput(loss=nn.functional.cross_entropy(out.logits, labels), **out)
        return out


class Collator:
    def __init__(self, pad=0):
        self.pad = pad

    def __call__(self, feats):
        n = max(len(f["input_ids"]) for f in feats)
        ids = torch.tensor([f["input_ids"] + [self.pad] * (n - len(f["input_ids"])) for f in feats])
        return {"input_ids": ids, "attention_mask": ids.ne(self.pad).long(), "labels": torch.tensor([f["label"] for f in feats])}


class Trainer:
    def __init__(self, model, args, train, collator, metrics):
        self.model, self.args, self.collator, self.metrics = model, args, collator, metrics
        self.loader = DataLoader(train, args["bs"], collate_fn=collator)
        self.model.to(self.place)

    @property
    def place(self):
        return torch.device("cuda" if torch.cuda.is_available() and not self.args.get("no_cuda") else "cpu")

    def _prepare(self, inputs):
        return {k: v.to(self.place) if isinstance(v, torch.Tensor) else v for k, v in inputs.items()}

    def train(self):
        opt = torch.optim.AdamW(self.model.parameters(), self.args["lr"])
        tr = torch.tensor(0.0).to(self.place)
        for inputs in self.loader:
            loss = self.model(**self._prepare(inputs)).loss
            loss.backward()
            opt.step()
            opt.zero_grad()
            tr += loss.detach()
        return tr.item() / len(self.loader)

    @torch.no_grad()
    def predict(self):
        logits, labels = [], []
        for inputs in self.loader:
            out = self.model(**self._prepare(inputs))
            logits.append(out[1].cpu())
            labels.append(inputs["labels"])
        return self.metrics(torch.cat(logits).numpy(), torch.cat(labels).numpy())


data = [{"input_ids": torch.randint(1, 30, (int(n),)).tolist(), "label": int(n) % 2} for n in torch.randint(3, 9, (12,))]
model = TinyBert(PretrainedConfig(vocab=30, dim=16, labels=2))
t = Trainer(model, {"bs": 4, "lr": 1e-3}, data, Collator(), lambda p, y: {"acc": (p.argmax(-1) == y).mean()})
print(t.train(), t.predict(), model(torch.tensor([[1, 2, 3]], device=model.device)).logits.shape)
