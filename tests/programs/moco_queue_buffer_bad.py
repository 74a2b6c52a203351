import copy

import torch
import torch.nn as nn


class MoCo(nn.Module):
    def __init__(self, base_encoder, dim=4, K=8, m=0.9, T=0.07):
        super(MoCo, self).__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q = base_encoder
        self.encoder_k = copy.deepcopy(base_encoder)
        for p in self.encoder_k.parameters():
            p.requires_grad = False
        self.queue = nn.functional.normalize(torch.randn(dim, K), dim=0)
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _enqueue(self, keys):
        ptr = int(self.queue_ptr)
        self.queue[:, ptr : ptr + keys.shape[0]] = keys.T
        self.queue_ptr[0] = (ptr + keys.shape[0]) % self.K

    def forward(self, im_q, im_k):
        q = nn.functional.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            k = nn.functional.normalize(self.encoder_k(im_k), dim=1)
        l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])  # FAIL
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        labels = torch.zeros(logits.shape[0], dtype=torch.long, device=logits.device)
        self._enqueue(k)
        return logits, labels


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    moco = MoCo(nn.Sequential(nn.Flatten(), nn.Linear(12, 4))).to(device)
    imgs = torch.rand(4, 3, 2, 2, device=device)
    logits, labels = moco(imgs, imgs + 0.01)  # CALL
    nn.functional.cross_entropy(logits, labels).backward()


if __name__ == "__main__":
    main()  # CALL
