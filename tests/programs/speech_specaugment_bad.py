import argparse
import random

import torch
from torch import nn


class SpecAugment(nn.Module):
    def __init__(self, rate, policy=3, freq_mask=2):
        super().__init__()
        self.rate = rate
        self.n = policy
        self.width = freq_mask

    def forward(self, x):
        keep = torch.ones(x.size(0), x.size(1), 1)
        for _ in range(self.n):
            f = random.randrange(x.size(1) - self.width)
            keep[:, f : f + self.width] = 0
        return x * keep  # FAIL


class SpeechRecognition(nn.Module):
    def __init__(self, hidden, classes, feats):
        super().__init__()
        self.aug = SpecAugment(1.0)
        self.dense = nn.Sequential(nn.Linear(feats, hidden), nn.LayerNorm(hidden), nn.GELU())
        self.lstm = nn.LSTM(hidden, hidden)
        self.final_fc = nn.Linear(hidden, classes)

    def _init_hidden(self, batch_size):
        h = torch.zeros(1, batch_size, 8)
        return h, h.clone()

    def forward(self, x, hidden):
        x = self.aug(x).permute(0, 2, 1)  # CALL
        x = self.dense(x).transpose(0, 1)
        out, hidden = self.lstm(x, hidden)
        return self.final_fc(out), hidden


def main(args):
    device = torch.device("cuda" if torch.cuda.is_available() and not args.no_cuda else "cpu")
    model = SpeechRecognition(8, 5, 6).to(device)
    hidden = tuple(h.to(device) for h in model._init_hidden(2))
    out, _ = model(torch.randn(2, 6, 10).to(device), hidden)  # CALL
    out.sum().backward()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--no-cuda", action="store_true")
    main(p.parse_args([]))  # CALL
