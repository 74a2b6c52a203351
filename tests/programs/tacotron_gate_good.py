import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class TextMel(Dataset):
    def __init__(self, n=12):
        self.items = [(torch.randint(1, 20, (3 + i % 4,)), torch.rand(8, 6 + i % 5)) for i in range(n)]

    def __getitem__(self, i):
        return self.items[i]

    def __len__(self):
        return len(self.items)


class Collate:
    def __call__(self, batch):
        lengths, order = torch.sort(torch.LongTensor([len(x[0]) for x in batch]), dim=0, descending=True)
        text = torch.zeros(len(batch), int(lengths[0]), dtype=torch.long)
        mel_len = max(x[1].size(1) for x in batch)
        mel = torch.zeros(len(batch), 8, mel_len)
        gate = torch.zeros(len(batch), mel_len)
        out_lens = torch.zeros(len(batch), dtype=torch.long)
        for i, j in enumerate(order):
            t, m = batch[j]
            text[i, :len(t)] = t
            mel[i, :, :m.size(1)] = m
            gate[i, m.size(1) - 1:] = 1
            out_lens[i] = m.size(1)
        return text, lengths, mel, gate, out_lens


def get_mask_from_lengths(lengths, max_len=None):
    max_len = torch.max(lengths).item() if max_len is None else max_len
    ids = torch.arange(0, max_len, device=lengths.device)
    return ids < lengths.unsqueeze(1)


class TTS(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 16)
        self.enc = nn.LSTM(16, 8, batch_first=True, bidirectional=True)
        self.dec = nn.GRU(8 + 16, 16, batch_first=True)
        self.mel, self.gate = nn.Linear(16, 8), nn.Linear(16, 1)

    def forward(self, text, lengths, mel, out_lens):
        x = nn.utils.rnn.pack_padded_sequence(self.emb(text), lengths.cpu(), batch_first=True)
        h, _ = nn.utils.rnn.pad_packed_sequence(self.enc(x)[0], batch_first=True)
        ctx = h.mean(1, keepdim=True)
        go = mel.new_zeros(mel.size(0), 1, mel.size(1))
        inp = torch.cat([go, mel.transpose(1, 2)[:, :-1]], 1)
        d, _ = self.dec(torch.cat([inp, ctx.expand(-1, inp.size(1), -1)], -1))
        mask = ~get_mask_from_lengths(out_lens, d.size(1))
        return self.mel(d).masked_fill(mask.unsqueeze(-1), 0.0).transpose(1, 2), self.gate(d).squeeze(-1).masked_fill(mask, 1e3)


class TTSLoss(nn.Module):
    def forward(self, out, target):
        mel_out, gate_out = out
        mel, gate = target
        return nn.MSELoss()(mel_out, mel) + nn.BCEWithLogitsLoss()(gate_out, gate)


def parse_batch(batch, device):
    text, lengths, mel, gate, out_lens = batch
    text, mel = text.to(device), mel.to(device)
    gate, out_lens = gate.to(device), out_lens.to(device)
    return (text, lengths, mel, out_lens), (mel, gate)


def main():
    device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')
    model, criterion = TTS().to(device), TTSLoss()
    opt = torch.optim.Adam(model.parameters())
    loader = DataLoader(TextMel(), batch_size=4, collate_fn=Collate())
    for i, batch in enumerate(loader):
        x, y = parse_batch(batch, device)
        y_pred = model(*x)
        loss = criterion(y_pred, y)
        model.zero_grad()
        loss.backward()
        opt.step()
        print(i, loss.item())


main()
