import asyncio
from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Request:
    ids: list
    want: int
    temperature: float = 1.0
    out: list = field(default_factory=list)
    future: asyncio.Future = None


class TinyLM(nn.Module):
    def __init__(self, v=16, d=12):
        super().__init__()
        self.v = v
        self.e, self.r, self.o = nn.Embedding(v, d), nn.GRU(d, d, batch_first=True), nn.Linear(d, v)

    def forward(self, ids, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.e(ids), lengths, batch_first=True, enforce_sorted=False)
        _, h = self.r(packed)
        return self.o(h[0])


class Batcher:
    def __init__(self, model, device, size=3):
        self.model, self.device, self.size = model.to(device).eval(), device, size
        self.q = asyncio.Queue()
        self.steps = 0

    async def submit(self, ids, want, temperature=1.0):
        r = Request(list(ids), want, temperature, future=asyncio.get_running_loop().create_future())
        await self.q.put(r)
        return await r.future

    @torch.inference_mode()
    def decode(self, batch):
        lengths = torch.tensor([len(r.ids) + len(r.out) for r in batch])
        ids = torch.zeros(len(batch), int(lengths.max()), dtype=torch.long)
        for row, r in zip(ids, batch):
            seq = r.ids + r.out
            row[: len(seq)] = torch.tensor(seq)
        logits = self.model(ids.to(self.device), lengths)
        temp = torch.tensor([max(r.temperature, 1e-3) for r in batch], device=self.device)
        probs = (logits / temp[:, None]).softmax(-1)
        greedy = torch.tensor([r.temperature == 0 for r in batch], device=self.device)
        tok = torch.where(greedy, probs.argmax(-1), torch.multinomial(probs, 1).squeeze(1))
        for r, t in zip(batch, tok.tolist()):
            r.out.append(t)
        self.steps += 1

    async def loop(self):
        live = []
        while True:
            while len(live) < self.size and (not live or not self.q.empty()):
                live.append(await self.q.get())
            self.decode(live)
            for r in [r for r in live if len(r.out) >= r.want]:
                live.remove(r)
                r.future.set_result(r.out)
            await asyncio.sleep(0)


class Usage:
    def __init__(self, v):
        self.hist = torch.zeros(v, dtype=torch.long)

    def add(self, toks):
        self.hist += torch.bincount(torch.tensor(toks), minlength=len(self.hist))


async def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    b = Batcher(TinyLM(), device)
    worker = asyncio.create_task(b.loop())
    jobs = [b.submit(range(1, 2 + i), 2 + i % 2, temperature=i / 2) for i in range(5)]
    answers = await asyncio.gather(*jobs)
    worker.cancel()
    use = Usage(16)
    for a in answers:
        use.add(a)
    p = use.hist / use.hist.sum()
    print(answers, b.steps, -(p[p > 0] * p[p > 0].log()).sum().item())


asyncio.run(main())
