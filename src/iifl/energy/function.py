"""What an energy is: a callable on actions, its state already bound, that defines π(a) = exp(−E(a)/T) / Z (Eq. 3)."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

Energy = Callable[[Tensor], Tensor]
"""Actions (..., K, A) → energies (..., K). The leading axes are usually E ensemble members and B states."""


@runtime_checkable
class DifferentiableEnergy(Protocol):
    """An energy that knows its own gradient and gives both for less than autograd would cost."""

    def value_and_grad(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Energies (..., K) and ∂E/∂a (..., K, A)."""
        ...


def value_and_grad(energy: Energy, actions: Tensor) -> tuple[Tensor, Tensor]:
    """Energies (..., K) and their gradients ∂E/∂a (..., K, A): the energy's own, or autograd's."""
    if isinstance(energy, DifferentiableEnergy):
        return energy.value_and_grad(actions)
    with torch.enable_grad():
        points = actions.detach().requires_grad_(True)
        energies = checked(energy(points), points)
        if not energies.requires_grad:
            raise ValueError("the energy does not depend on the actions through torch: autograd finds no gradient")
        (gradients,) = torch.autograd.grad(energies.sum(), points)
    return energies.detach(), gradients


def checked(energies: Tensor, actions: Tensor) -> Tensor:
    """The energies, if there is one for each action and none is NaN."""
    if energies.shape != actions.shape[:-1]:
        raise ValueError(
            f"an energy must map actions {tuple(actions.shape)} to energies {tuple(actions.shape[:-1])}, "
            f"not to {tuple(energies.shape)}: reduce the last axis only, and expand actions shared by several models"
        )
    if bool(energies.isnan().any()):
        raise ValueError(f"{int(energies.isnan().sum())} of {energies.numel()} energies are NaN")
    return energies


def cross_energies(energy: Energy, actions: Tensor) -> Tensor:
    """Every member's energy at every member's actions: (E, B, K, A) → (E, E, B, K), [i, j] = E_i at the actions of j.

    `energy` holds E members along its first axis, as `EnergyEnsemble.at` does.
    """
    members, *leading, K, A = actions.shape
    everyone = actions.movedim(0, -3).reshape(1, *leading, members * K, A)  # (1, B, E·K, A)
    energies = energy(everyone.expand(members, *everyone.shape[1:]))  # (E, B, E·K)
    return energies.reshape(members, *leading, members, K).movedim(-2, 1)
