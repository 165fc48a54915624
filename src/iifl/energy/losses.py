"""Losses that train an energy: InfoNCE (Eq. 5), ranking NCE for known proposals, and IBC's gradient penalty."""

import torch
from torch import Tensor


def info_nce(positive: Tensor, negatives: Tensor, log_proposal: tuple[Tensor, Tensor] | None = None) -> Tensor:
    """−log of the share of the human's action among the counter-examples (Eq. 5), for each data point: (...).

    `positive` (...) are energies of the humans' actions, `negatives` (..., K) of the counter-examples. With
    `log_proposal`, the log densities under which both could have been drawn, in the same shapes, the logits are
    −E − log q: ranking NCE (Singh et al. 2023, arXiv:2309.05803), whose optimum is the true log density, whatever the
    proposal. Without, the counter-examples count as drawn uniformly.
    """
    if positive.shape != negatives.shape[:-1]:
        raise ValueError(
            f"negatives {tuple(negatives.shape)} must be the positives {tuple(positive.shape)} with one more axis"
        )
    energies = torch.cat([positive.unsqueeze(-1), negatives], dim=-1)  # (..., 1 + K)
    if log_proposal is None:
        logits = ranking_logits(energies)
    else:
        logits = ranking_logits(energies, torch.cat([log_proposal[0].unsqueeze(-1), log_proposal[1]], dim=-1))
    return torch.logsumexp(logits, -1) - logits[..., 0]


def ranking_logits(energies: Tensor, log_proposal: Tensor | float = 0.0) -> Tensor:
    """Who among the candidates is the human's action: logits −E − log q."""
    return -energies - log_proposal


def gradient_penalty(gradients: Tensor, margin: float = 1.0) -> Tensor:
    """Σ_k max(0, ‖∂E/∂a_k‖∞ − margin)² over the counter-examples (..., K, A), for each data point: (...)."""
    steepest = gradients.abs().amax(-1)
    return (steepest - margin).clamp(min=0).square().sum(-1)
