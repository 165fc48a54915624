import hashlib

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from iifl.runs.checkpoint import Checkpoints, join, load_checkpoint, part
from iifl.runs.files import StorageError

DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
)
STATE = {
    "policy.weight": torch.arange(12, dtype=torch.float32).reshape(3, 4),
    "policy.small": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
    "world.qpos": np.linspace(0, 1, 7),
    "world.episodes": np.array([2**63 + 1, 5], np.uint64),
    "failed": np.array([True, False, True]),
}
META = {"t̂": 3, "note": 'quotes " and \\ and {"sha256": "', "nested": {"x": [1, None, 2.5]}}


def same(value, other) -> bool:
    """Of the same kind, dtype, shape and bits."""
    if type(value) is not type(other) or value.dtype != other.dtype or value.shape != other.shape:
        return False
    if isinstance(value, torch.Tensor):
        value, other = (x.view(torch.uint8).numpy() if x.dtype == torch.bfloat16 else x.numpy() for x in (value, other))
    return value.tobytes() == other.tobytes()


@pytest.fixture
def checkpoints(tmp_path):
    return Checkpoints(tmp_path / "checkpoints")


def test_state_and_meta_come_back(checkpoints):
    path = checkpoints.save(40, STATE, META)
    loaded = checkpoints.load_latest()
    assert (loaded.t, loaded.meta, loaded.path) == (40, META, path)
    assert loaded.state.keys() == STATE.keys()
    for name, value in STATE.items():
        assert same(loaded.state[name], value), name


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from(DTYPES).flatmap(
            lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
        ),
        max_size=4,
    ),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_every_dtype_and_shape_comes_back(tmp_path_factory, arrays, as_tensor):
    state = {
        f"part.{i}": torch.from_numpy(np.array(array)) if as_tensor[i] else array for i, array in enumerate(arrays)
    }
    loaded = load_checkpoint(Checkpoints(tmp_path_factory.mktemp("c")).save(1, state, {}))
    assert loaded.state.keys() == state.keys()
    assert all(same(loaded.state[name], state[name]) for name in state)


def test_views_shared_memory_and_gradients_are_saved_by_value(checkpoints):
    weight = torch.arange(6.0).reshape(2, 3).requires_grad_()
    state = {"a": weight, "tied": weight, "transposed": weight.T, "array": np.arange(6).reshape(2, 3).T[::-1]}
    checkpoints.save(1, state, {})
    loaded = checkpoints.load_latest().state
    assert torch.equal(loaded["tied"], torch.tensor([[0.0, 1, 2], [3, 4, 5]]))
    assert torch.equal(loaded["transposed"], torch.tensor([[0.0, 3], [1, 4], [2, 5]]))
    assert loaded["array"].tolist() == [[2, 5], [1, 4], [0, 3]]
    loaded["array"][0, 0] = 9  # it can be gone on with
    loaded["a"][0, 0] = 9


def test_equal_states_give_equal_files(tmp_path):
    one = Checkpoints(tmp_path / "a").save(5, STATE, META)
    other = Checkpoints(tmp_path / "b").save(5, dict(reversed(STATE.items())), META)
    assert one.read_bytes() == other.read_bytes()
    changed = {**STATE, "world.qpos": np.nextafter(STATE["world.qpos"], 2)}
    assert Checkpoints(tmp_path / "c").save(5, changed, META).read_bytes() != one.read_bytes()


def test_the_digest_is_the_sha256_of_the_file_with_zeros_in_its_place(checkpoints):
    data = checkpoints.save(5, STATE, {}).read_bytes()
    place = data.index(b"sha256") + len(rb"sha256\": \"")
    zeroed = data[:place] + b"0" * 64 + data[place + 64 :]
    assert data[place : place + 64] == hashlib.sha256(zeroed).hexdigest().encode()


def test_the_newest_two_are_kept(checkpoints):
    for t in (0, 10, 9, 20, 1000, 999_999_999):
        checkpoints.save(t, {"t": np.array(t)}, {})
    assert [load_checkpoint(path).t for path in checkpoints.paths()] == [1000, 999_999_999]
    assert checkpoints.load_latest().state["t"] == 999_999_999


def test_a_damaged_newest_one_is_passed_over_with_a_warning_and_then_replaced(checkpoints):
    for t in (10, 20):
        newest = checkpoints.save(t, {"t": np.array(t)}, {})
    newest.write_bytes(newest.read_bytes()[:-1])
    with pytest.warns(UserWarning, match=r"passing over a checkpoint: .*checkpoint-000000020\.safetensors: is damaged"):
        loaded = checkpoints.load_latest()
    assert loaded.t == 10
    checkpoints.save(15, {"t": np.array(15)}, {})  # the damaged one is of a future that is done again
    assert [load_checkpoint(path).t for path in checkpoints.paths()] == [10, 15]


def test_without_a_whole_checkpoint_there_is_an_error(checkpoints):
    with pytest.raises(StorageError, match="checkpoints: holds no checkpoint"):
        checkpoints.load_latest()
    for t in (10, 20):
        checkpoints.save(t, STATE, META).write_bytes(b"")
    with pytest.warns(UserWarning) as warned, pytest.raises(StorageError, match="no checkpoint in it can be loaded"):
        checkpoints.load_latest()
    assert [f"checkpoint-0000000{t}" in str(w.message) for t, w in zip((20, 10), warned, strict=True)] == [True, True]


def test_every_flipped_byte_and_every_truncation_is_found(checkpoints):
    path = checkpoints.save(3, STATE, META)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= rng.integers(1, 256)
        path.write_bytes(damaged)
        with pytest.raises(StorageError, match=r"checkpoint-000000003\.safetensors: is damaged"):
            load_checkpoint(path)
    for length in range(0, len(whole), 5):
        path.write_bytes(whole[:length])
        with pytest.raises(StorageError, match="is damaged"):
            load_checkpoint(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(StorageError, match="is damaged"):
        load_checkpoint(path)


def test_what_a_checkpoint_cannot_hold_is_an_error_that_names_it(checkpoints):
    with pytest.raises(TypeError, match=r"'policy\.rate' is a float; a checkpoint takes tensors and arrays"):
        checkpoints.save(1, {"policy.rate": 0.5}, {})
    for array in (np.array(["x"]), np.array([None]), np.arange(3).astype(">i4")):
        with pytest.raises(TypeError, match=r"the array 'names' of dtype .* cannot be kept"):
            checkpoints.save(1, {"names": array}, {})
    with pytest.raises(ValueError, match="not JSON compliant"):
        checkpoints.save(1, {}, {"x": float("nan")})
    assert checkpoints.paths() == []


def test_parts_are_joined_and_taken_apart():
    policy, world = {"net.w": torch.ones(2), "rate": torch.tensor(0.1)}, {"qpos": np.zeros(3)}
    state = join(policy=policy, world=world, policy2={"w": np.ones(1)})
    assert list(state) == ["policy.net.w", "policy.rate", "world.qpos", "policy2.w"]
    assert part(state, "policy") == policy
    assert part(state, "world")["qpos"] is world["qpos"]
    assert part(state, "nothing") == {}
