"""Every number that is reported about a run, each defined once.

Notation: N robots, M humans, timesteps s = 0 … t, α the assignment of Eq. (2), r the rewards. All are curves over t
that cover the timesteps up to and including t, so that the last entry is the figure of the whole run.

The return on human effort of Eq. (4) comes in two normalisations and for two rewards. `rohe_paper` is Eq. (4) to the
letter, `rohe_total` is what the published tables hold. `_success` is for the sparse reward r ∈ {0, 1} of a task that
was completed (the benchmark's figures), `_reward` for the reward of the world itself (the cube-stacking tables).
"""

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from iifl.records import NOBODY, FloatArray, Timestep

Curves = dict[str, FloatArray]


def stack(timesteps: Sequence[Timestep]) -> Timestep:
    """The history of a run: the same record with a time axis in front of every array (T, N)."""
    if not timesteps:
        raise ValueError("a run without a timestep has no metrics")
    return Timestep(**{f.name: np.stack([getattr(step, f.name) for step in timesteps]) for f in fields(Timestep)})


def successes(history: Timestep) -> FloatArray:
    """Σ_s Σ_i [robot i completed its task in timestep s]."""
    return _total(history.success)


def successes_alone(history: Timestep) -> FloatArray:
    """Σ_s Σ_i [robot i completed its task in timestep s, and had no human in that whole episode]."""
    helped = history.human_of != NOBODY
    help_so_far = np.cumsum(helped, axis=0)
    begins = np.zeros_like(helped)  # the episodes, but the first, whose help so far counts from zero
    begins[1:] = (history.ended | history.hard_reset)[:-1]
    before = np.maximum.accumulate(np.where(begins, help_so_far - helped, 0), axis=0)
    return _total(history.success & (help_so_far == before))


def hard_resets(history: Timestep) -> FloatArray:
    """Σ_s Σ_i [a human finished a hard reset of robot i in timestep s]: one per reset, however long it takes."""
    return _total(history.hard_reset)


def idle(history: Timestep) -> FloatArray:
    """Σ_s Σ_i [robot i did not move in timestep s]: it had failed, with a human resetting it or without."""
    return _total(history.failed)


def human_actions(history: Timestep) -> FloatArray:
    """Σ_s ‖α^s‖²_F: every robot-step with a human, hard resets included."""
    return _total(history.human_of != NOBODY)


def switches(history: Timestep) -> FloatArray:
    """Σ_s Σ_i [row i of α^s differs from row i of α^{s−1}], with α^{−1} = 0.

    One for each robot that gets a human, loses its human, or has another one than in the timestep before.
    """
    before = np.concatenate([np.full_like(history.human_of[:1], NOBODY), history.human_of[:-1]])
    return _total(history.human_of != before)


def reward(history: Timestep) -> FloatArray:
    """Σ_s Σ_i r_i^s, whoever chose the actions."""
    return _total(history.rewards)


def average_reward(history: Timestep, episode_steps: int) -> FloatArray:
    """Σ_s Σ_i r_i^s · L / (N (t + 1)): per robot and per L = `episode_steps` timesteps."""
    robot_steps = history.rewards.shape[1] * np.arange(1, len(history.rewards) + 1)
    per_episode: FloatArray = reward(history) * episode_steps / robot_steps
    return per_episode


def rohe_total(earned: FloatArray, history: Timestep) -> FloatArray:
    """Σ_s Σ_i r_i^s / (1 + Σ_s ‖α^s‖²_F), for the cumulative reward `earned` of the whole fleet."""
    per_action: FloatArray = earned / (1 + human_actions(history))
    return per_action


def rohe_paper(earned: FloatArray, history: Timestep, humans: int) -> FloatArray:
    """Eq. (4): M/N · Σ_s r̄^s / (1 + Σ_s ‖α^s‖²_F), where r̄ is the mean over the N robots."""
    robots = history.rewards.shape[1]
    per_action: FloatArray = humans / robots * rohe_total(earned / robots, history)
    return per_action


def curves(history: Timestep, humans: int, episode_steps: int) -> Curves:
    """Every metric as a curve over time (T,)."""
    if history.rewards.ndim != 2:
        raise ValueError(f"a history has arrays of (timesteps, robots), not {history.rewards.shape}; see `stack`")
    if not np.isfinite(history.rewards).all():
        timestep, robot = (int(i) for i in np.argwhere(~np.isfinite(history.rewards))[0])
        raise ValueError(f"timestep {timestep}, robot {robot}: the reward is {history.rewards[timestep, robot]}")
    done, gained = successes(history), reward(history)
    return {
        "successes": done,
        "successes_alone": successes_alone(history),
        "hard_resets": hard_resets(history),
        "idle": idle(history),
        "human_actions": human_actions(history),
        "switches": switches(history),
        "reward": gained,
        "average_reward": average_reward(history, episode_steps),
        "rohe_paper_success": rohe_paper(done, history, humans),
        "rohe_paper_reward": rohe_paper(gained, history, humans),
        "rohe_total_success": rohe_total(done, history),
        "rohe_total_reward": rohe_total(gained, history),
    }


def final(history: Timestep, humans: int, episode_steps: int) -> dict[str, float]:
    """Every metric of the whole run: the end of its curve."""
    return {name: float(curve[-1]) for name, curve in curves(history, humans, episode_steps).items()}


def _total(values: FloatArray | np.ndarray) -> FloatArray:
    """Σ_{s ≤ t} Σ_i of values (T, N), for every t."""
    return np.cumsum(values.sum(axis=1, dtype=np.float64))
