"""The overhead camera of block pushing: images of many workspaces, drawn one after the other by one renderer.

Only what differs between the workspaces is written into one MuJoCo scene: the places of cube and goal, the camera and
the light. What policies see is drawn small, with smooth edges, of few faces and without shadows, which would cost ten
times as much where a CPU draws; what people see is drawn large, with shadows. The same state gives the same image, bit
by bit.
"""

import copy
from math import radians, tan

import mujoco
import numpy as np

from iifl.records import FloatArray
from iifl.tasks.rotations import rotation_matrices

LOOKS = 10
"""Of a workspace: place (3) and turn (3) of the camera; direction (2) of the light, its strength, its warmth."""
SHIFT, TURN = 0.003, 0.01  # m and rad: of the camera
SLANT, STRENGTH, WARMTH = 0.1, 0.1, 0.03  # of the light
AWAY = (0.0, 1.0, 0.3, 0.0)  # the pusher while pictures are taken
SAMPLES, SLICES = 4, 12  # of each pixel, and of a disc
GEOMS = 100  # room in the scene


class NoGraphicsError(RuntimeError):
    """MuJoCo cannot draw on this machine; the message says what to install."""


class Overhead:
    """Draws the workspaces of `model`; nothing is opened before the first image."""

    def __init__(self, model: mujoco.MjModel, image: int, view: int) -> None:
        self._image, self._view = image, view
        camera = model.camera("overhead")
        self._height, self._half_angle = float(camera.pos[2]), radians(float(camera.fovy[0])) / 2
        self._model = model
        self._plain: _Scene | None = None
        self._fine: _Scene | None = None

    def pixels_per_metre(self, size: int, height: float) -> float:
        """Of an image of this size by the calibrated camera, at this height above the table."""
        return size / (2 * (self._height - height) * tan(self._half_angle))

    def images(self, cubes: FloatArray, goals: FloatArray, looks: FloatArray) -> np.ndarray:
        """What policies see of cubes (k, 7) and goals (k, 2) by the looks (k, LOOKS): (k, image, image, 3)."""
        if self._plain is None:
            self._plain = _Scene(self._model, self._image, shadows=False)
        return self._plain.draw(cubes, goals, looks)

    def views(self, cubes: FloatArray, goals: FloatArray, looks: FloatArray) -> np.ndarray:
        """What people see, by the camera as it was calibrated: (k, view, view, 3)."""
        if self._fine is None:
            self._fine = _Scene(self._model, self._view, shadows=True)
        return self._fine.draw(cubes, goals, looks * ([0.0] * 6 + [1.0] * 4))


class _Scene:
    """One renderer and the scene it draws."""

    def __init__(self, model: mujoco.MjModel, size: int, shadows: bool) -> None:
        self._model = copy.copy(model)
        if not shadows:
            self._model.vis.quality.offsamples = SAMPLES
            self._model.vis.quality.numslices = SLICES
            self._model.light_castshadow[:] = 0
        try:
            self._renderer = mujoco.Renderer(self._model, size, size, GEOMS)
        except Exception as error:  # any driver has its own error
            raise NoGraphicsError(
                f"MuJoCo cannot draw the camera images of this world ({error}). Without a screen it draws through EGL "
                "(Debian: apt install libegl1 libgl1-mesa-dri) or, with the environment variable MUJOCO_GL=osmesa, "
                "through OSMesa (Debian: apt install libosmesa6)."
            ) from error
        self._size = size
        self._data = mujoco.MjData(self._model)
        self._data.qpos[-4:] = AWAY
        mujoco.mj_forward(self._model, self._data)
        self._cube, self._goal = (self._model.geom(name).id for name in ("cube", "goal"))
        self._camera = self._model.camera("overhead").id
        self._at = self._data.cam_xpos[self._camera].copy()
        self._towards = self._data.light_xdir[0].copy()
        self._ambient = np.array(self._model.vis.headlight.ambient)
        self._diffuse = self._model.light_diffuse[0].copy()

    def draw(self, cubes: FloatArray, goals: FloatArray, looks: FloatArray) -> np.ndarray:
        """The images (k, size, size, 3)."""
        data, model, renderer = self._data, self._model, self._renderer
        turned = rotation_matrices(cubes[:, 3:7]).reshape(-1, 9)
        at = self._at + SHIFT * looks[:, 0:3]
        quaternions = np.column_stack([np.ones(len(looks)), TURN / 2 * looks[:, 3:6]])
        aimed = rotation_matrices(quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)).reshape(-1, 9)
        towards = self._towards + SLANT * np.column_stack([looks[:, 6:8], np.zeros(len(looks))])
        towards /= np.linalg.norm(towards, axis=1, keepdims=True)
        colour = 1 + STRENGTH * looks[:, 8:9] + WARMTH * looks[:, 9:10] * [1.0, 0.0, -1.0]
        images = np.empty((len(cubes), self._size, self._size, 3), np.uint8)
        for i, image in enumerate(images):
            data.geom_xpos[self._cube], data.geom_xmat[self._cube] = cubes[i, :3], turned[i]
            data.geom_xpos[self._goal, :2] = goals[i]
            data.cam_xpos[self._camera], data.cam_xmat[self._camera] = at[i], aimed[i]
            data.light_xdir[0] = towards[i]
            model.light_diffuse[0] = self._diffuse * colour[i]
            model.vis.headlight.ambient = self._ambient * colour[i]
            renderer.update_scene(data, self._camera)
            renderer.render(out=image)
        return images
