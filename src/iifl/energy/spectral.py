"""Spectral normalisation W / σ(W) (Miyato et al. 2018) of weights with a leading ensemble axis, by power iteration."""

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import normalize

FIRST_ITERATIONS = 100
"""Power iterations before first use; each use in training then follows the slowly moving weight with one more."""


class SpectralNorm(nn.Module):
    """Divides each member's weight (E, in, out) by its largest singular value; its vectors are in the state dict."""

    left: Tensor  # (E, in, 1)
    right: Tensor  # (E, out, 1)

    def __init__(self, weight: Tensor, generator: Generator) -> None:
        super().__init__()
        members, _, outputs = weight.shape
        self.register_buffer("right", normalize(torch.randn(members, outputs, 1, generator=generator), dim=1))
        self.register_buffer("left", torch.zeros(members, weight.shape[1], 1))
        for _ in range(FIRST_ITERATIONS):
            self._iterate(weight)

    def forward(self, weight: Tensor) -> Tensor:
        """W / σ(W), differentiable by W."""
        if self.training:
            self._iterate(weight)
        # Copies: the tape of an earlier call must not see the vectors change.
        sigma = self.left.clone().transpose(1, 2) @ weight @ self.right.clone()  # (E, 1, 1)
        return weight / sigma

    @torch.no_grad()
    def _iterate(self, weight: Tensor) -> None:
        self.left.copy_(normalize(weight @ self.right, dim=1))
        self.right.copy_(normalize(weight.transpose(1, 2) @ self.left, dim=1))
