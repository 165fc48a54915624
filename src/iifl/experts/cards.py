"""The cards beside the trained weights: what an expert does, and the bar of success that follows from it."""

import json
from pathlib import Path
from typing import Any

WEIGHTS = Path(__file__).parent / "weights"
SUCCESS_SHARE = 0.95
"""An episode succeeds at this share of the expert's mean return."""


def card(world: str) -> dict[str, Any] | None:
    """The card of the expert of a world, if there is one."""
    path = WEIGHTS / f"{world}.json"
    if not path.exists():
        return None
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def success_return(world: str) -> float | None:
    """The return from which an episode counts as success; None until the world has an expert."""
    known = card(world)
    return None if known is None else SUCCESS_SHARE * known["evaluation"]["mean_return"]
