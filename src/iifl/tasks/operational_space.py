"""Operational-space control (Khatib 1987) of a whole fleet of arms at once.

The end effector is to accelerate as a critically damped spring towards a pose δ away from the present one, and what the
task leaves free (the arm has a seventh joint) as one towards the home posture:

    a = kp δ − 2√kp v        n = kp₀ (q₀ − q) − 2√kp₀ q̇
    τ = M n + Jᵀ Λ (a − J n) + h,      Λ = (J M⁻¹ Jᵀ)⁻¹

with h the Coriolis and centrifugal torques (gravity is compensated by the arm). This is the usual
JᵀΛa + (I − JᵀΛJM⁻¹) M n, with the two products of JᵀΛ taken together.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from mujoco.batch import Batch

from iifl.records import FloatArray, IntArray

SINGULARITY = 1e-3
"""Added to Λ⁻¹ (1/kg), so that a stretched arm asks for no more than 1000 kg of apparent mass."""


@dataclass(frozen=True)
class Gains:
    """The stiffness of the task (kp), of the posture (kp₀), and the torque limits of the joints (N m)."""

    task: float
    posture: float
    torque_limits: FloatArray  # (J,)


class OperationalSpaceControl:
    """Torques for arms whose hinges are the first J joints of `model`, moving `site`.

    Reads the batch's derived fields, so the batch must have computed the stages up to velocity at the present state.
    """

    def __init__(self, model: mujoco.MjModel, batch: Batch, site: str, home: FloatArray, gains: Gains) -> None:
        self.joints = len(home)
        self.home, self.gains = home, gains
        site_id = model.site(site).id
        self.position: FloatArray = batch.bind("site_xpos")[:, site_id]
        self._qpos, self._qvel = batch.bind("qpos"), batch.bind("qvel")
        self._anchors: FloatArray = batch.bind("xanchor")[:, : self.joints]
        self._axes: FloatArray = batch.bind("xaxis")[:, : self.joints]
        self._bias, self._gravity = batch.bind("qfrc_bias"), batch.bind("qfrc_gravcomp")
        self._inertia: FloatArray = batch.bind("M")
        self._rows, self._columns, self._entries = _lower_triangle(model, self.joints)

    def jacobian(self, robots: IntArray) -> FloatArray:
        """What the joints' velocities make of the end effector's (linear, angular): (k, 6, J)."""
        axes = self._axes[robots]
        lever = self.position[robots, None] - self._anchors[robots]
        return np.concatenate([np.cross(axes, lever), axes], axis=2).transpose(0, 2, 1)

    def mass_matrix(self, robots: IntArray) -> FloatArray:
        """The joint-space inertia of the arms, with what they hold rigid: (k, J, J)."""
        entries = self._inertia[np.ix_(robots, self._entries)]
        mass = np.zeros((len(robots), self.joints, self.joints))
        mass[:, self._rows, self._columns] = entries
        mass[:, self._columns, self._rows] = entries
        return mass

    def torques(self, robots: IntArray, displacement: FloatArray) -> FloatArray:
        """The torques (k, J) that move the end effectors by `displacement` (k, 6): metres, then axis times angle."""
        q, velocity = self._qpos[robots, : self.joints], self._qvel[robots, : self.joints]
        jacobian, mass = self.jacobian(robots), self.mass_matrix(robots)
        twist = np.einsum("nij,nj->ni", jacobian, velocity)
        task = self.gains.task * displacement - 2 * np.sqrt(self.gains.task) * twist
        posture = self.gains.posture * (self.home - q) - 2 * np.sqrt(self.gains.posture) * velocity
        mobility = jacobian @ np.linalg.solve(mass, jacobian.transpose(0, 2, 1))  # Λ⁻¹
        mobility += SINGULARITY * np.eye(6)
        missing = task - np.einsum("nij,nj->ni", jacobian, posture)
        force = np.linalg.solve(mobility, missing[..., None])[..., 0]
        torque = np.einsum("nij,nj->ni", mass, posture) + np.einsum("nij,ni->nj", jacobian, force)
        torque += (self._bias - self._gravity)[robots, : self.joints]
        limited: FloatArray = np.clip(torque, -self.gains.torque_limits, self.gains.torque_limits)
        return limited


def _lower_triangle(model: mujoco.MjModel, joints: int) -> tuple[IntArray, IntArray, IntArray]:
    """Row, column and place in MuJoCo's sparse mass matrix of each of its entries between the first `joints` joints."""
    rows = np.repeat(np.arange(joints), model.M_rownnz[:joints])
    entries = np.concatenate([model.M_rowadr[i] + np.arange(model.M_rownnz[i]) for i in range(joints)])
    return rows, model.M_colind[entries], entries
