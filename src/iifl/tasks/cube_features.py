"""What a policy may see of the stacking world instead of its observation, and the symmetry of that world.

An observation has places in metres from the table's centre and quaternions, whose sign says nothing. The features are
what the work depends on: where cube A is from the hand and from its place on cube B, how the hand is tilted and turned
against the cube (a quarter turn of which changes nothing), where the hand is from the base, and how far the fingers are
open. Lengths and the turn come at several scales, from transport to contact, so that a network that is smooth in them
can tell millimetres apart where they count. They name no stage, height or goal of any supervisor.

The arm does the same wherever its first joint points, so a demonstration turned about the base is one as well.
"""

import numpy as np

from iifl.records import FloatArray, ObservationArray
from iifl.tasks.rotations import rotation_matrices

BASE = np.array([-0.45, 0.0, 0.0])  # on the axis of the arm's first joint
ON_B = np.array([0.0, 0.0, 0.06])  # from B's centre to A's when stacked
HALF_OPEN = 0.033  # a finger's position between holding the cube and open
SCALES = (0.2, 0.05, 0.01)  # metres: transport, approach, contact
STEPS, STEP = np.array([-0.01, -0.005, 0.0, 0.005, 0.01]), 0.003  # metres
TURNS, TURN = np.array([-0.1, -0.05, 0.0, 0.05, 0.1]), 0.03  # radians
AROUND = 0.01  # metres: how far from the vertical line of its goal a hand still is about to act


def features(observations: ObservationArray) -> FloatArray:
    """The features (k, 65) of observations (k, 19)."""
    seen = observations.astype(np.float64)
    cube, hand = (rotation_matrices(seen[:, [x + 3, x, x + 1, x + 2]]) for x in (0, 13))
    off, rest = seen[:, 4:7] - seen[:, 10:13], seen[:, 7:10] + ON_B
    arm = seen[:, 10:13] - BASE
    flat = np.where(np.abs(cube[:, 2:3, 0]) < 0.7, cube[:, :, 0], cube[:, :, 1])  # a side that lies flat
    turn = np.arctan2(flat[:, 1], flat[:, 0]) - np.arctan2(hand[:, 1, 0], hand[:, 0, 0])
    turn = (turn + np.pi / 4) % (np.pi / 2) - np.pi / 4  # from the hand to the nearest pair of faces
    reach = _sideways(arm)
    finger = seen[:, 17:19].mean(axis=1)
    return np.column_stack(
        [
            *(part for way in (off, rest) for part in (way, _scaled(way[:, :2]), _scaled(way[:, 2:]))),
            *(_stepped(way[:, 2]) for way in (off, rest)),
            *(part for way in (off, rest) for part in (_sideways(way), _stepped(_sideways(way) - AROUND))),
            hand[:, :2, 2],
            np.cos(4 * turn),
            np.sin(4 * turn),
            np.tanh((turn[:, None] - TURNS) / TURN),
            reach,
            arm[:, :2] / reach[:, None],
            seen[:, 12],
            finger,
            _stepped(finger - HALF_OPEN),
        ]
    ).astype(np.float32)


def _scaled(ways: FloatArray) -> FloatArray:
    """The direction of ways (k, d), longer the farther, at every scale: (k, scales · d)."""
    length = np.linalg.norm(ways, axis=1, keepdims=True)
    return np.concatenate([ways / (length + scale) for scale in SCALES], axis=1)


def _stepped(lengths: FloatArray) -> FloatArray:
    """Soft steps of lengths (k,) within a centimetre of zero: (k, steps)."""
    steps: FloatArray = np.tanh((lengths[:, None] - STEPS) / STEP)
    return steps


def _sideways(ways: FloatArray) -> FloatArray:
    """The horizontal length of ways (k, 3): (k,)."""
    length: FloatArray = np.hypot(ways[:, 0], ways[:, 1])
    return length


def turned(observations: ObservationArray, actions: FloatArray, turns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The scenes (k, 19) and actions (k, 7), turned about the base by so many full turns (k,)."""
    angle = 2 * np.pi * turns.astype(np.float64)
    scenes, moves = observations.astype(np.float64), actions.astype(np.float64)
    scenes[:, [4, 10]] -= BASE[0]
    for vectors, x in ((scenes, 4), (scenes, 7), (scenes, 10), (moves, 0), (moves, 3)):
        vectors[:, x : x + 2] = _rotated(vectors[:, x : x + 2], angle)
    scenes[:, [4, 10]] += BASE[0]
    for x in (0, 13):  # a quaternion x y z w, after a turn about z: its pairs (x, y) and (w, z) turn by half of it
        scenes[:, x : x + 2] = _rotated(scenes[:, x : x + 2], angle / 2)
        scenes[:, [x + 3, x + 2]] = _rotated(scenes[:, [x + 3, x + 2]], angle / 2)
    return scenes.astype(np.float32), np.clip(moves, -1.0, 1.0).astype(np.float32)


def _rotated(pairs: FloatArray, angle: FloatArray) -> FloatArray:
    """Vectors in a plane (k, 2), turned by angles (k,)."""
    cos, sin = np.cos(angle), np.sin(angle)
    return np.column_stack([cos * pairs[:, 0] - sin * pairs[:, 1], sin * pairs[:, 0] + cos * pairs[:, 1]])
