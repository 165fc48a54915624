"""A fleet as stable-baselines3 wants it: robots reset themselves, observations are normalised as they come."""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from iifl.experts.normalisation import RunningNormalisation
from iifl.records import FloatArray
from iifl.tasks.fleet import FleetTask

Shaping = Callable[[Any, FloatArray], FloatArray]
"""A term added to the reward in training only: (world after the step, actions) → (N,)."""


class TrainingFleet(VecEnv):
    """A world with automatic resets; keeps the returns of the latest episodes."""

    def __init__(
        self, task: FleetTask, reward_scale: float, shaping: Shaping | None = None, episode_steps: int | None = None
    ) -> None:
        self.task = task
        self._episode_steps = min(task.episode_steps, episode_steps or task.episode_steps)
        self.normalisation = RunningNormalisation(task.single_observation_space.shape or ())
        self.finished: deque[tuple[float, int, bool]] = deque(maxlen=max(100, task.num_envs))
        """Return, length and failure of the latest episodes."""
        self._reward_scale, self._shaping = reward_scale, shaping
        super().__init__(task.num_envs, task.single_observation_space, task.single_action_space)

    def reset(self) -> FloatArray:
        """Start the fleet, its clocks spread over the episode so that the robots do not end theirs together."""
        observations, _ = self.task.reset()
        self.task.clock[:] = np.arange(self.num_envs) * self._episode_steps // self.num_envs
        return self.normalisation(observations, learn=True)

    def step_async(self, actions: FloatArray) -> None:
        """Remember the actions."""
        self._actions = actions

    def step_wait(self) -> tuple[FloatArray, FloatArray, np.ndarray, list[dict[str, Any]]]:
        """Step, then reset the robots whose episode is over."""
        observations, rewards, terminated, truncated, info = self.task.step(self._actions)
        if self._shaping is not None:
            rewards = rewards + self._shaping(self.task, self._actions)
        truncated |= self.task.clock >= self._episode_steps
        over = terminated | truncated
        notes: list[dict[str, Any]] = [{}] * self.num_envs
        if over.any():
            seen = self.normalisation(observations, learn=False)
            for robot in np.flatnonzero(over):
                self.finished.append((info["episode_return"][robot], self.task.clock[robot], info["failed"][robot]))
                notes[robot] = {
                    "terminal_observation": seen[robot],
                    "TimeLimit.truncated": bool(truncated[robot] and not terminated[robot]),
                }
            observations, _ = self.task.reset(options={"reset_mask": over})
        scaled = (rewards * self._reward_scale).astype(np.float32)
        return self.normalisation(observations, learn=True), scaled, over, notes

    def close(self) -> None:
        """Close the world."""
        self.task.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The world's attribute, as if every robot had its own."""
        return [getattr(self.task, attr_name, None)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Not for a fleet: robots share one world."""
        raise NotImplementedError("the robots of a fleet share one world; set the attribute on it")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Not for a fleet: robots share one world."""
        raise NotImplementedError("the robots of a fleet share one world; call the method on it")

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """No robot has a wrapper of its own."""
        return [False] * self.num_envs
