import numpy as np
from scipy.spatial.transform import Rotation

from iifl.tasks.rotations import into_body_frame, rotation_matrices


def test_matrices_and_frames_are_those_of_scipy():
    rotations = Rotation.random(50, rng=np.random.default_rng(0))
    quaternions = rotations.as_quat(scalar_first=True)
    vectors = np.random.default_rng(1).normal(size=(50, 3))
    matrices = rotation_matrices(quaternions)
    np.testing.assert_allclose(matrices, rotations.as_matrix(), atol=1e-12)
    np.testing.assert_allclose(into_body_frame(matrices, vectors), rotations.inv().apply(vectors), atol=1e-12)
