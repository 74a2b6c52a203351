"""OCR-like recognizer: crops in, strings out."""
import numpy as np
import torch
from torch import nn

CHARSET = "-abcdefghij"


class CRNN(nn.Module):
    def __init__(self, n_out=len(CHARSET)):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.rnn = nn.GRU(6 * 4, 16, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(32, n_out)

    def forward(self, x):
        f = self.cnn(x)  # FAIL
        b, c, h, w = f.shape
        seq, _ = self.rnn(f.permute(0, 3, 1, 2).reshape(b, w, c * h))
        return self.fc(seq)


class Recognizer:
    def __init__(self, net, mean=0.5, std=0.25):
        self.net = net.eval()
        self.mean, self.std = mean, std

    def preprocess(self, crops):
        batch = np.stack([c.astype(np.float32) / 255 for c in crops])[:, None]
        return torch.from_numpy((batch - self.mean) / self.std)

    def decode(self, ids):
        out, last = [], 0
        for i in ids:
            if i != last and i != 0:
                out.append(CHARSET[i])
            last = i
        return "".join(out)

    @torch.inference_mode()
    def __call__(self, crops):
        batch = self.preprocess(crops)
        device = next(self.net.parameters()).device
        logits = self.net(batch).to(device)  # CAUSE
        conf, ids = logits.softmax(-1).max(-1)
        return [(self.decode(row.tolist()), c.mean().item()) for row, c in zip(ids, conf)]


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    net = CRNN()
    if torch.cuda.is_available():
        net = net.cuda()
    recognizer = Recognizer(net)
    crops = [rng.integers(0, 256, (8, 20), dtype=np.uint8) for _ in range(3)]
    for word, conf in recognizer(crops):
        print(repr(word), f"{conf:.3f}")


if __name__ == "__main__":
    main()
