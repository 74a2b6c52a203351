import asyncio

import torch
from torch import nn


class Worker:
    def __init__(self, device):
        self.device = device
        self.model = nn.Linear(3, 4).to(device).eval()
        self.prior = torch.tensor([0.4, 0.3, 0.2, 0.1]).log()  # CAUSE
        self.lock = asyncio.Lock()

    async def predict(self, features):
        x = torch.tensor(features).unsqueeze(0).to(self.device)
        async with self.lock:
            with torch.no_grad():
                logits = self.model(x)
        await asyncio.sleep(0)
        adjusted = logits - self.prior  # FAIL
        return adjusted.softmax(-1)[0].tolist()


async def client(worker, seed):
    g = torch.Generator().manual_seed(seed)
    answers = []
    for _ in range(2):
        answers.append(await worker.predict(torch.randn(3, generator=g).tolist()))
    return answers


async def main():
    worker = Worker(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    results = await asyncio.gather(*(client(worker, s) for s in range(3)))
    for answers in results:
        print([max(range(4), key=a.__getitem__) for a in answers])


if __name__ == "__main__":
    asyncio.run(main())
