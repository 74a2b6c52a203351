"""A device without an index, kept while the current device changes."""

import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def embed(table: torch.Tensor, ids: list[int]) -> torch.Tensor:
    return table[torch.tensor(ids, device=DEVICE)]


def main() -> None:
    table = torch.randn(10, 4, device=DEVICE)
    if torch.cuda.device_count() > 1:
        torch.cuda.set_device(1)
    extra = torch.ones(4, device=DEVICE)
    print((embed(table, [1, 2]) + extra).shape)


if __name__ == "__main__":
    main()
