"""Beam search that computes with indices."""

import torch


def reorder(log_probs: torch.Tensor, beams: int) -> torch.Tensor:
    """Which of the flattened beams each of the best continuations came from."""
    batch, width = log_probs.shape[0] // beams, log_probs.shape[1]
    scores, best = log_probs.view(batch, beams * width).topk(beams, dim=1)
    ancestors = best // width
    first_of_batch = torch.arange(batch).unsqueeze(1) * beams
    return (ancestors + first_of_batch).view(-1)


def main() -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    log_probs = torch.randn(6, 5, device=device).log_softmax(-1)
    print(reorder(log_probs, beams=3))


if __name__ == "__main__":
    main()
