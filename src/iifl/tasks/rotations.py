"""Rotations of many bodies at once, from MuJoCo's unit quaternions (w, x, y, z)."""

import numpy as np

from iifl.records import FloatArray


def rotation_matrices(quaternions: FloatArray) -> FloatArray:
    """Matrices whose columns are the axes of the bodies in the world: (N, 4) → (N, 3, 3)."""
    w, x, y, z = quaternions.T
    matrices = np.empty((len(quaternions), 3, 3), quaternions.dtype)
    xx, yy, zz = 2 * x * x, 2 * y * y, 2 * z * z
    xy, xz, yz = 2 * x * y, 2 * x * z, 2 * y * z
    wx, wy, wz = 2 * w * x, 2 * w * y, 2 * w * z
    matrices[:, 0, 0] = 1 - yy - zz
    matrices[:, 0, 1] = xy - wz
    matrices[:, 0, 2] = xz + wy
    matrices[:, 1, 0] = xy + wz
    matrices[:, 1, 1] = 1 - xx - zz
    matrices[:, 1, 2] = yz - wx
    matrices[:, 2, 0] = xz - wy
    matrices[:, 2, 1] = yz + wx
    matrices[:, 2, 2] = 1 - xx - yy
    return matrices


def into_body_frame(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """World vectors (N, 3) as the bodies see them: (N, 3)."""
    seen: FloatArray = np.einsum("nij,ni->nj", matrices, vectors)
    return seen
