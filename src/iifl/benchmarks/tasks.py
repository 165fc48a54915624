"""How fast the MuJoCo worlds step: against bare physics, and against gymnasium's vector environments.

- `whole step / bare physics`: throughput of `step` (checks, physics, observation, reward, ends of episodes) as a share
  of that of `Batch.step` alone, on the same states under the same controls.
- `ant / Sync-` and `AsyncVectorEnv`: throughput of our ant against gymnasium's `Ant-v5` on the same model, with the
  same timestep and substeps.
- `block_push: drawing / …`: the time to draw the camera images of the whole fleet, over that of the physics of a push,
  and over that of the implicit policy that sees them, action and uncertainty together.

The two sides of a ratio take turns, so that a busy machine slows both; the ratio is the median over the turns, and its
spread the distance between the quartiles.
"""

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import gymnasium
import numpy as np
import torch

from iifl.assembly import make_policy, sizes_of
from iifl.benchmarks.rows import Row, seconds
from iifl.presets import preset
from iifl.registry import TASKS
from iifl.tasks.block_push import BlockPush
from iifl.tasks.mujoco_fleet import MODELS, MujocoFleet

WORLDS = ("ball_balance", "ant", "anymal", "cube_stacking")
STEPS, TURNS = 20, 15
GENTLE = 0.3
"""The size of the random actions: no episode ends within a turn, so that both sides move all robots."""


def benchmark_tasks(sizes: tuple[int, ...] = (100, 1024), threads: int = 0, gym_robots: int = 100) -> list[Row]:
    """All ratios of the worlds; `gym_robots` 0 leaves gymnasium out."""
    rows = [against_bare_physics(world, robots, threads) for robots in sizes for world in WORLDS]
    rows += [drawing_against_physics(sizes[0], threads), drawing_against_deciding(sizes[0])]
    if gym_robots:
        rows += [against_gymnasium(mode, gym_robots, threads) for mode in ("sync", "async")]
    return rows


def against_bare_physics(world: str, robots: int, threads: int = 0) -> Row:
    """Throughput of the whole step as a share of that of the physics alone."""
    task: MujocoFleet = TASKS.load(world)(robots, threads=threads)
    rng = np.random.default_rng(0)
    actions = (GENTLE * rng.uniform(-1, 1, (STEPS, robots, *(task.single_action_space.shape or ())))).astype(np.float32)
    controls = np.empty((STEPS, *task.ctrl.shape))

    def whole() -> None:
        for i in range(STEPS):
            task.step(actions[i])
            controls[i] = task.ctrl

    def bare() -> None:
        for i in range(STEPS):
            task.ctrl[:] = controls[i]
            task.batch.step(nstep=task.substeps)

    def rewind() -> None:
        if not task.running.all():
            raise RuntimeError(f"{world}: an episode ended within a turn; the two sides did not do the same work")
        task.load_state_dict(start)

    task.reset()
    start = task.state_dict()
    settings = {"robots": robots, "threads": task.batch.nthread, "substeps": task.substeps, "steps": STEPS}
    return _ratio(f"{world}: whole step / bare physics, N = {robots}", bare, whole, rewind, settings)


def against_gymnasium(mode: str, robots: int, threads: int = 0) -> Row:
    """Throughput of our ant over that of gymnasium's Ant-v5 in a vector environment of this mode."""
    if find_spec("imageio") is None:
        raise RuntimeError("gymnasium's Ant-v5 needs imageio: pip install imageio")
    task: MujocoFleet = TASKS.load("ant")(robots, threads=threads)
    rival = gymnasium.make_vec(
        "Ant-v5",
        num_envs=robots,
        vectorization_mode=mode,
        xml_file=str(MODELS / "ant.xml"),
        frame_skip=task.substeps,
        terminate_when_unhealthy=False,
    )
    rng = np.random.default_rng(0)
    actions = (GENTLE * rng.uniform(-1, 1, (STEPS, robots, 8))).astype(np.float32)

    def ours() -> None:
        for action in actions:
            task.step(action)

    def theirs() -> None:
        for action in actions:
            rival.step(action)

    def rewind() -> None:
        task.reset(seed=0)
        rival.reset(seed=0)

    settings = {"robots": robots, "threads": task.batch.nthread, "substeps": task.substeps, "steps": STEPS}
    try:
        rewind()
        return _ratio(f"ant / gymnasium {mode}, N = {robots}", theirs, ours, rewind, settings)
    finally:
        rival.close()


def drawing_against_physics(robots: int, threads: int = 0) -> Row:
    """The time to draw what all robots see, as a share of that of the physics of one push of each."""
    task = BlockPush(robots, threads=threads)
    everyone = np.arange(robots)
    pushes = np.full((robots, 2), GENTLE, np.float32)

    task.reset()
    start = task.state_dict()
    settings = {"robots": robots, "threads": task.batch.nthread, "substeps": task.substeps}
    return _ratio(
        f"block_push: drawing / physics of a push, N = {robots}",
        lambda: task.draw(everyone),
        lambda: task._advance(everyone, pushes),
        lambda: task.load_state_dict(start),
        settings,
    )


def drawing_against_deciding(robots: int) -> Row:
    """The time to draw what all robots see, as a share of that of the implicit policy's decision on it."""
    task = BlockPush(robots)
    everyone = np.arange(robots)
    images, _ = task.reset()
    policy = make_policy(preset("block_push", "iifl").policy, sizes_of(task), 0, "cpu")
    return _ratio(
        f"block_push: drawing / deciding of the implicit policy, N = {robots}",
        lambda: task.draw(everyone),
        lambda: policy.decide(images),
        lambda: None,
        {"robots": robots, "threads": torch.get_num_threads()},
    )


def _ratio(
    name: str,
    reference: Callable[[], object],
    ours: Callable[[], object],
    rewind: Callable[[], None],
    settings: dict[str, Any],
) -> Row:
    """The time of `reference` over the time of `ours`, which goes first."""
    start = time.perf_counter()
    ours()  # both sides warm up
    rewind()
    reference()
    ratios = []
    for _ in range(TURNS):
        rewind()
        ours_seconds = seconds(ours)
        rewind()
        ratios.append(seconds(reference) / ours_seconds)
    low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
    return Row(name, float(middle), float(high - low), time.perf_counter() - start, settings)
