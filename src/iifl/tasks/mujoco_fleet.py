"""What every MuJoCo world shares: N simulations of one model, stepped together on a thread pool.

`mujoco.batch.Batch` holds each robot's simulation as one row of state, so that stepping some robots, saving them and
going on later are bit-identical whatever the number of threads. A world gives a model and four methods over arrays of
robots: `_place`, `_control`, `_sense` and `_judge`.

State fields (`qpos`, `qvel`, `ctrl`) are live views of the rows: current after every step. `sensors` holds the sensors
as MuJoCo computes them on the way, that is at the start of the last substep; nothing is computed a second time to bring
them up to date, so positions and velocities in an observation are current and forces are one substep (a few
milliseconds) old, as they are on a real robot.
"""

import os
from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

import mujoco
import numpy as np
from gymnasium import spaces
from mujoco.batch import Batch, SimulationError

from iifl.records import FloatArray, IntArray
from iifl.tasks.fleet import FleetTask, StateDict

MODELS = Path(__file__).parent / "models"
_DIVERGED = slice(int(mujoco.mjtWarning.mjWARN_BADQPOS), int(mujoco.mjtWarning.mjWARN_BADCTRL) + 1)
_COUNT = 1  # a warning's row is (last info, how often it was raised)


class DivergedError(RuntimeError):
    """A simulation that cannot go on; the message names the robot."""


def unbounded(size: int) -> spaces.Box:
    """The space of observations that have no natural bounds."""
    return spaces.Box(-np.inf, np.inf, (size,), np.float32)


def signed_unit(size: int) -> spaces.Box:
    """The action space [-1, 1]^size."""
    return spaces.Box(-1.0, 1.0, (size,), np.float32)


class MujocoFleet(FleetTask):
    """N robots, each in its own simulation of `model`, on `threads` threads (0: OMP_NUM_THREADS, or all cores)."""

    substeps: ClassVar[int]
    """Steps of the physics in one step of the world."""
    moments: ClassVar[int] = 1
    """Pictures that a film has of one step of the world: more than one where a step is long."""
    carried: ClassVar[tuple[str, ...]] = ()
    """The names of the arrays beside the physics that a world carries from step to step; they are saved with it."""

    def __init__(
        self,
        model: mujoco.MjModel,
        num_envs: int,
        observation: spaces.Box,
        action: spaces.Box,
        *,
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        super().__init__(num_envs, observation, action, seed)
        self.model = model
        allowed = os.environ.get("OMP_NUM_THREADS", "")  # what a pool of processes gives to each
        self.batch = Batch(model, num_envs, threads or (int(allowed) if allowed.isdigit() else 0))
        self.qpos: FloatArray = self.batch.bind("qpos")
        self.qvel: FloatArray = self.batch.bind("qvel")
        self.ctrl: FloatArray = self.batch.bind("ctrl")
        # The batch's own sensor array cannot be written, and a resumed run needs its values back: keep a copy.
        self._live_sensors: FloatArray = self.batch.bind("sensordata")
        self.sensors: FloatArray = np.zeros_like(self._live_sensors)
        self.observation: np.ndarray = np.zeros((num_envs, *observation.shape), observation.dtype)

    @property
    def timestep(self) -> float:
        """Seconds in one step of the world."""
        return float(self.model.opt.timestep) * self.substeps

    # What a world gives -------------------------------------------------------------------------------------------

    @abstractmethod
    def _place(self, robots: IntArray, uniforms: FloatArray) -> None:
        """Write the start of an episode into `qpos` and `qvel` (now the model's defaults) and the carried arrays."""

    @abstractmethod
    def _control(self, robots: IntArray, actions: FloatArray) -> None:
        """Write the actions (k, A) of `robots` (k,) into `ctrl`."""

    @abstractmethod
    def _sense(self) -> np.ndarray:
        """The observations of all robots (N, ...), from the state and the sensors; `_judge` finds them in
        `self.observation`."""

    # What every MuJoCo world shares -------------------------------------------------------------------------------

    def _reset_robots(self, robots: IntArray, uniforms: FloatArray) -> None:
        self.batch.reset(robots, stage=mujoco.mjtStage.mjSTAGE_NONE)
        self._place(robots, uniforms)
        self.batch.forward(robots)
        self.sensors[robots] = self._live_sensors[robots]
        self.observation = self._sense()

    def _advance(self, robots: IntArray, actions: FloatArray) -> None:
        everyone = len(robots) == self.num_envs
        self._control(robots, actions)
        try:
            self._simulate(None if everyone else robots)
        except SimulationError as error:
            raise DivergedError(f"robot {error.ids[0]}: MuJoCo cannot go on: {error}") from error
        diverged = self.batch.warning[:, _DIVERGED, _COUNT]
        if diverged.any():
            robot = int(np.flatnonzero(diverged.any(axis=1))[0])
            raise DivergedError(
                f"robot {robot}: the physics diverged (NaN or a huge number) at step {self.clock[robot]} of episode "
                f"{self.episode[robot]}; reset this robot, or make the physics softer or its timestep shorter"
            )
        if everyone:
            np.copyto(self.sensors, self._live_sensors)
        else:
            self.sensors[robots] = self._live_sensors[robots]
        self.observation = self._sense()

    def _simulate(self, robots: IntArray | None) -> None:
        """Run the physics of `robots` (None: of all) for one step of the world."""
        self.batch.step(robots, nstep=self.substeps)

    def show(self, robot: int, moment: int, data: mujoco.MjData) -> None:
        """Write a robot as it was at this of the `moments` of the last step into `data`, for a camera."""
        del moment  # the state that the step has led to
        self.batch.get_data(robot, data)

    def _observe(self) -> np.ndarray:
        return self.observation.copy()

    def world_state(self) -> StateDict:
        """The rows of the simulations, their sensors and the carried arrays."""
        carried = {name: getattr(self, name).copy() for name in self.carried}
        return {"physics": self.batch.state.copy(), "sensors": self.sensors.copy(), **carried}

    def load_world_state(self, state: StateDict) -> None:
        """Take back what `world_state` gave."""
        self.batch.state[:] = state["physics"]
        self.sensors[:] = state["sensors"]
        for name in self.carried:
            getattr(self, name)[:] = state[name]
        self.observation = self._sense()
