"""Who helps whom in this timestep: the allocation policy ω of Eq. (2), given the priority of every robot.

A pure function, the same for every order of the Fleet-DAgger family. The orders differ in the priority alone.
"""

import numpy as np

from iifl.allocation.priority import Priority
from iifl.records import NOBODY, Assignment, BoolArray


class AssignmentError(ValueError):
    """An old assignment that no allocation can have made; the message names the robot or the human."""


def assign(
    old: Assignment,
    priority: Priority,
    *,
    humans: int,
    minimum_intervention: int,
    resetting: BoolArray,
    rng: np.random.Generator,
) -> Assignment:
    """The assignment for this timestep, from that of the last one and the priorities now.

    1. A human is locked to a robot while the two have spent fewer than `minimum_intervention` (t_T) timesteps together,
       and while the robot is `resetting` (N,): a hard reset has begun and is not complete.
    2. The F other humans are for the F robots next in priority, of those that want help and have no locked human (for
       fewer than F, where the priority says that fewer humans may be at work).
    3. A human whose robot is among these stays with it. The others go, in random order, to the rest of these robots,
       the highest priority first. A human for whom no robot is left is free.

    `together` in the result is the number of timesteps that the pair has completed before this one: 0 in its first.
    What happens to the robot's episode does not matter: a human stays through a free reset under the same rules.
    """
    _check(old, priority, humans, minimum_intervention, resetting)
    helped = old.human_of != NOBODY
    completed = old.together + 1  # of a pair of the last timestep, which is over by now
    locked = helped & ((completed < minimum_intervention) | resetting)

    movable = humans - int(np.count_nonzero(locked))
    if priority.busy_at_most is not None:
        movable = max(0, min(movable, priority.busy_at_most - int(np.count_nonzero(locked))))
    ranking = priority.ranking()
    next_up = ranking[~locked[ranking]][:movable]

    stays = locked.copy()
    stays[next_up] = helped[next_up]
    human_of = np.where(stays, old.human_of, NOBODY)

    staying = np.zeros(humans, bool)
    staying[human_of[stays]] = True
    in_random_order = rng.permutation(np.flatnonzero(~staying))
    waiting = next_up[~stays[next_up]]
    human_of[waiting] = in_random_order[: len(waiting)]
    return Assignment(human_of, np.where(stays, completed, 0))


def _check(old: Assignment, priority: Priority, humans: int, minimum_intervention: int, resetting: BoolArray) -> None:
    """Refuse what would silently break Eq. (2)."""
    robots = len(old.human_of)
    sizes = {"together": len(old.together), "priority": len(priority.wants), "resetting": len(resetting)}
    for name, size in sizes.items():
        if size != robots:
            raise ValueError(f"{name} is for {size} robots, but the assignment is for {robots}")
    if minimum_intervention < 1:
        raise ValueError(f"the minimum intervention time must be at least 1 timestep, not {minimum_intervention}")
    out_of_range = (old.human_of < NOBODY) | (old.human_of >= humans)
    if out_of_range.any():
        robot = int(np.argmax(out_of_range))
        raise AssignmentError(f"robot {robot} has human {old.human_of[robot]}, but there are only {humans} humans")
    busy = np.bincount(old.human_of[old.human_of != NOBODY], minlength=1)
    if busy.max() > 1:
        raise AssignmentError(f"human {int(np.argmax(busy))} is with {busy.max()} robots at a time")
    abandoned = resetting & (old.human_of == NOBODY)
    if abandoned.any():
        raise AssignmentError(f"robot {int(np.argmax(abandoned))} is in the middle of a hard reset without a human")
