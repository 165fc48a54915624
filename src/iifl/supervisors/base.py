"""The border of the supervisors: the M people who help, each in their own way."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from iifl.records import FloatArray, IntArray, ObservationArray, Situation


def kinds_of(supervisors: "Supervisors") -> IntArray:
    """The kind of each of the people (M,), where they are of several kinds (`kind_of`); else all are of one."""
    one = np.zeros(supervisors.humans, np.int64)
    return getattr(supervisors, "kind_of", one)


class Supervisors(Protocol):
    """The M people of a run, as one object: whatever they remember of a robot is an array over the fleet.

    A person who takes over a robot must cope with any state that another has left it in.
    """

    humans: int

    def begin(self, robots: IntArray) -> None:
        """These robots (k,) start a new episode: forget what was in mind for them."""
        ...

    def act(self, humans: IntArray, robots: IntArray, observations: ObservationArray, task: Any) -> FloatArray:
        """The action of human `humans[i]` for robot `robots[i]`: (k, A), inside the action box.

        `observations` are those of these robots (k, S); `task` is the world, for supervisors who see its true state.
        """
        ...

    def state_dict(self) -> dict[str, np.ndarray]:
        """All that is needed to go on from here, random state included, as arrays."""
        ...

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state that `state_dict` gave."""
        ...


@runtime_checkable
class Attentive(Protocol):
    """Supervisors who look at the whole fleet before anybody acts, as people of flesh and blood must.

    Scripted ones need no such look: they are asked for actions alone, and a hard reset begins without them.
    """

    def attend(self, situation: Situation, task: Any) -> None:
        """See who is to do what in this timestep, and come back when each has decided on it.

        The hard resets of the situation begin when this returns; the actions are asked for next, by `act`.
        """
        ...
