"""A linear-chain CRF on top of a tagger: forward algorithm, Viterbi, transitions with forbidden moves."""
import torch
from torch import nn

TAGS = ["O", "B", "I"]


class CRF(nn.Module):
    def __init__(self, n_tags):
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros(n_tags, n_tags))
        forbidden = torch.zeros(n_tags, n_tags, dtype=torch.bool)
        forbidden[0, 2] = True
        self.register_buffer("forbidden", forbidden)

    def scores(self):
        return self.transitions.masked_fill(self.forbidden, -1e4)

    def log_partition(self, emissions, mask):
        alpha = emissions[:, 0]
        for t in range(1, emissions.size(1)):
            nxt = torch.logsumexp(alpha.unsqueeze(2) + self.scores() + emissions[:, t].unsqueeze(1), dim=1)
            alpha = torch.where(mask[:, t].unsqueeze(1), nxt, alpha)
        return alpha.logsumexp(1)

    def path_score(self, emissions, tags, mask):
        mask = mask.type_as(emissions)
        score = emissions[:, 0].gather(1, tags[:, :1]).squeeze(1)
        for t in range(1, emissions.size(1)):
            step = self.scores()[tags[:, t - 1], tags[:, t]] + emissions[:, t].gather(1, tags[:, t : t + 1]).squeeze(1)
            score = score + step * mask[:, t]
        return score

    def viterbi(self, emissions):
        alpha, back = emissions[:, 0], []
        for t in range(1, emissions.size(1)):
            best, arg = (alpha.unsqueeze(2) + self.scores()).max(dim=1)
            back.append(arg)
            alpha = best + emissions[:, t]
        path = [alpha.argmax(1)]
        for arg in reversed(back):
            path.insert(0, arg.gather(1, path[0].unsqueeze(1)).squeeze(1))
        return torch.stack(path, dim=1)


class Tagger(nn.Module):
    def __init__(self, vocab=15, dim=12):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, dim, 3, padding=1)
        self.emit = nn.Linear(dim, len(TAGS))
        self.crf = CRF(len(TAGS))

    def emissions(self, tokens):
        return self.emit(torch.relu(self.conv(self.embed(tokens).transpose(1, 2))).transpose(1, 2))

    def loss(self, tokens, tags, mask):
        e = self.emissions(tokens)
        return (self.crf.log_partition(e, mask) - self.crf.path_score(e, tags, mask)).mean()


def corpus(n, length=7):
    tokens = torch.randint(1, 15, (n, length))
    tags = torch.zeros_like(tokens)
    tags[tokens > 10] = 1
    lengths = torch.randint(3, length + 1, (n, 1))
    return tokens, tags, torch.arange(length).expand(n, -1) < lengths


torch.manual_seed(70)
if torch.cuda.is_available():
    where = torch.device("cuda", torch.cuda.current_device())
else:
    where = torch.device("cpu")
net = Tagger().to(where)
sgd = torch.optim.SGD(net.parameters(), lr=0.1)
for _round in range(6):
    tokens, tags, mask = [t.to(where) for t in corpus(10)]
    loss = net.loss(tokens, tags, mask)
    sgd.zero_grad()
    loss.backward()
    sgd.step()
print("likelihood finite:", bool(torch.isfinite(loss)))
tokens, tags, mask = corpus(4)
with torch.no_grad():
    decoded = net.crf.viterbi(net.emissions(tokens.to(where))).cpu()
hits = (decoded == tags)[mask]
print("decoded", decoded.numpy().shape, hits.numel() > 0)
