import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class EncoderCNN(nn.Module):
    def __init__(self, embed_size):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.embed = nn.Linear(4, embed_size)

    def forward(self, images):
        return self.embed(self.cnn(images))


class DecoderRNN(nn.Module):
    def __init__(self, embed_size, hidden_size, vocab_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.word_embed = nn.Embedding(vocab_size, embed_size)
        self.cell = nn.LSTMCell(embed_size, hidden_size)
        self.fc = nn.Linear(hidden_size, vocab_size)

    def forward(self, features, captions):
        batch, steps = captions.shape
        h = torch.zeros(batch, self.hidden_size, device=features.device)
        c = torch.zeros(batch, self.hidden_size, device=features.device)
        outputs = torch.zeros(batch, steps, self.fc.out_features, device=features.device)
        inp = features
        for t in range(steps):
            h, c = self.cell(inp, (h, c))
            outputs[:, t] = self.fc(h)
            inp = self.word_embed(captions[:, t])
        return outputs


device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
encoder, decoder = EncoderCNN(6).to(device), DecoderRNN(6, 8, 11).to(device)
params = list(decoder.parameters()) + list(encoder.embed.parameters())
optimizer = torch.optim.Adam(params, lr=0.001)
for i_step in range(2):
    images, captions = torch.rand(2, 3, 8, 8).to(device), torch.randint(0, 11, (2, 5)).to(device)
    outputs = decoder(encoder(images), captions)
    loss = F.cross_entropy(outputs.view(-1, 11), captions.view(-1))
    encoder.zero_grad()
    decoder.zero_grad()
    loss.backward()
    optimizer.step()
