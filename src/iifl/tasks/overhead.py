"""The overhead camera of block pushing: images of many workspaces, drawn one after the other by one renderer.

Only what differs between the workspaces is written into one MuJoCo scene: the places of cube and goal, the camera and
the light. What policies see is drawn small, with smooth edges, of few faces and without shadows, which would cost ten
times as much where a CPU draws; what people see is drawn large, with shadows. The same state gives the same image, bit
by bit. A scene belongs to the thread that drew first.
"""

import os
import sys
from functools import cache

import mujoco
import numpy as np
from mujoco.rendering.classic import gl_context

from iifl.records import FloatArray
from iifl.tasks.mujoco_fleet import MODELS
from iifl.tasks.rotations import rotation_matrices

MODEL = MODELS / "block_push.xml"
LOOKS = 10
"""What a camera and a light are given by, each in [-1, 1]: place (3) and turn (3) of the camera; direction (2),
strength and warmth of the light."""
LIGHT = np.array([0.0] * 6 + [1.0] * 4)
"""Times looks: those of the camera as it was calibrated."""
SHIFT, TURN = 0.003, np.array([0.003, 0.003, 0.01])  # m, and rad about x, y and the line of sight: of the camera
SLANT, STRENGTH, WARMTH = 0.1, 0.1, 0.03  # of the light
AWAY = (0.0, 1.0, 0.3, 0.0)  # the pusher while pictures are taken: x, y, z, yaw
SLICES = 12  # of a disc that is drawn small
GEOMS = 100  # room in the scene


class NoGraphicsError(RuntimeError):
    """MuJoCo cannot draw on this machine; the message says what to install."""


@cache
def scene(size: int, fine: bool) -> "Scene":
    """The one scene of this size in this process: to open one takes longer than to draw a fleet."""
    return Scene(size, fine)


class Scene:
    """One renderer and the workspace that it draws."""

    def __init__(self, size: int, fine: bool) -> None:
        self._size = size
        self._model = mujoco.MjModel.from_xml_path(str(MODEL))
        if not fine:
            self._model.light_castshadow[:] = 0
            self._model.vis.quality.numslices = SLICES
        self._renderer = _renderer(self._model, size)
        self._data = mujoco.MjData(self._model)
        self._data.qpos[-len(AWAY) :] = AWAY
        mujoco.mj_forward(self._model, self._data)
        self._cube, self._goal = (self._model.geom(name).id for name in ("cube", "goal"))
        self._camera = self._model.camera("overhead").id
        self._at = self._data.cam_xpos[self._camera].copy()
        self._towards = self._data.light_xdir[0].copy()
        self._diffuse = self._model.light_diffuse[0].copy()
        self._ambient = self._model.vis.headlight.ambient.copy()

    def draw(self, cubes: FloatArray, goals: FloatArray, looks: FloatArray) -> np.ndarray:
        """Images (k, size, size, 3) of cubes (k, 7: place and quaternion) and goals (k, 2) by the looks (k, LOOKS)."""
        data, model = self._data, self._model
        turned = rotation_matrices(cubes[:, 3:7]).reshape(-1, 9)
        at = self._at + SHIFT * looks[:, 0:3]
        aim = _unit(np.column_stack([np.ones(len(looks)), TURN / 2 * looks[:, 3:6]]))
        aimed = rotation_matrices(aim).reshape(-1, 9)
        towards = _unit(self._towards + SLANT * np.column_stack([looks[:, 6:8], np.zeros(len(looks))]))
        colour = 1 + STRENGTH * looks[:, 8:9] + WARMTH * looks[:, 9:10] * [1.0, 0.0, -1.0]
        images = np.empty((len(cubes), self._size, self._size, 3), np.uint8)
        for i, image in enumerate(images):
            data.geom_xpos[self._cube], data.geom_xmat[self._cube] = cubes[i, :3], turned[i]
            data.geom_xpos[self._goal, :2] = goals[i]
            data.cam_xpos[self._camera], data.cam_xmat[self._camera] = at[i], aimed[i]
            data.light_xdir[0] = towards[i]
            model.light_diffuse[0], model.vis.headlight.ambient = self._diffuse * colour[i], self._ambient * colour[i]
            self._renderer.update_scene(data, self._camera)
            self._renderer.render(out=image)
        return images


def _renderer(model: mujoco.MjModel, size: int) -> mujoco.Renderer:
    """A renderer, or an error that says what to do."""
    try:
        needs_screen = sys.platform == "linux" and gl_context.GLContext.__module__.endswith("glfw")
        if needs_screen and not os.environ.get("DISPLAY"):  # a second try would end the process
            raise RuntimeError("there is no screen, and MuJoCo was given no other way to draw")
        return mujoco.Renderer(model, size, size, GEOMS)
    except Exception as error:  # any driver has its own error
        raise NoGraphicsError(
            f"MuJoCo cannot draw the camera images of this world: {error}. Without a screen it draws through EGL "
            "(Debian: apt install libegl1 libgl1-mesa-dri) or OSMesa (Debian: apt install libosmesa6). A program that "
            "imports mujoco before iifl must set the environment variable MUJOCO_GL to egl or osmesa."
        ) from error


def _unit(vectors: FloatArray) -> FloatArray:
    unit: FloatArray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit
