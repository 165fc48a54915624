"""The picture of the four grasps: scripted people who take different faces of the cube for the same cube pose.

Needs an OpenGL that renders without a screen: set the environment variable MUJOCO_GL to `egl` or `osmesa`.
"""

from pathlib import Path

import mujoco
import numpy as np
from matplotlib.figure import Figure

from iifl.report.figures import style
from iifl.supervisors.cube_stacking import CubeStackingSupervisors, Stage
from iifl.tasks.cube_stacking import CUBE_A, CubeStacking

TITLES = ("θ", "θ − π/2", "θ − π", "θ + π/2")  # in the order of the supervisors' kinds
PIXELS = 720


def grasping(seed: int) -> CubeStacking:
    """Four robots that began in the same state, each with its cube in the hand of another kind of person."""
    kinds = np.arange(len(TITLES))
    world = CubeStacking(len(TITLES), seed=seed)
    world.reset()
    world.qpos[:] = world.qpos[0]
    world.load_state_dict(world.state_dict())
    people, observations = CubeStackingSupervisors(len(TITLES), len(TITLES)), world.observation
    while world.running.any():
        actions = people.act(kinds, kinds, observations, world)
        ready = people.state_dict()["stage"] >= Stage.LIFT
        if ready.all():
            return world
        actions[ready, :6] = 0.0  # who holds the cube waits for the others
        observations = world.step(actions)[0]
    raise RuntimeError(f"seed {seed}: not every kind of person grasped the cube; take another seed")


def picture_of_grasps(path: Path, seed: int = 3) -> None:
    """Render the four grasps, side by side, to a picture."""
    world = grasping(seed)
    camera = mujoco.MjvCamera()
    camera.lookat = world.qpos[0, CUBE_A][:3] + np.array([0.0, 0.0, 0.06])
    camera.distance, camera.azimuth, camera.elevation = 0.5, 150.0, -24.0
    with style(), mujoco.Renderer(world.model, PIXELS, PIXELS) as renderer:
        figure = Figure(figsize=(7.2, 2.2), layout="constrained")
        for kind, (panel, title) in enumerate(zip(figure.subplots(1, len(TITLES)), TITLES, strict=True)):
            data = world.batch.get_data(kind)
            mujoco.mj_forward(world.model, data)
            renderer.update_scene(data, camera)
            panel.imshow(renderer.render())
            panel.set_title(title)
            panel.axis("off")
        figure.savefig(path, dpi=300)
