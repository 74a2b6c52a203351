"""Continues a prompt with a small, untrained language model."""

import torch
from torch import nn

CONTEXT = 16


class ByteTokenizer:
    def encode(self, text):
        return list(text.encode())

    def decode(self, ids):
        return bytes(ids).decode(errors="replace")


class GPT(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.tokens = nn.Embedding(256, width)
        self.positions = nn.Embedding(CONTEXT, width)
        self.block = nn.TransformerEncoderLayer(width, nhead=4, dim_feedforward=64, batch_first=True)
        self.head = nn.Linear(width, 256)

    def forward(self, idx):
        tokens = self.tokens(idx)
        positions = self.positions(torch.arange(idx.shape[1], device=idx.device))
        return self.head(self.block(tokens + positions))


def text_to_token_ids(text, tokenizer):
    return torch.tensor(tokenizer.encode(text)).unsqueeze(0)  # add the batch dimension


def token_ids_to_text(ids, tokenizer):
    return tokenizer.decode(ids.squeeze(0).tolist())


@torch.no_grad()
def generate(model, idx, max_new_tokens):
    for _ in range(max_new_tokens):
        logits = model(idx[:, -CONTEXT:])[:, -1]
        idx = torch.cat((idx, logits.argmax(dim=-1, keepdim=True)), dim=1)
    return idx


def main(prompt):
    torch.manual_seed(123)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = ByteTokenizer()
    gpt = GPT()
    gpt.to(device)
    gpt.eval()

    token_ids = generate(
        model=gpt,
        idx=text_to_token_ids(prompt, tokenizer),
        max_new_tokens=8,
    )
    print(token_ids_to_text(token_ids, tokenizer))


if __name__ == "__main__":
    main("Every effort moves you")
