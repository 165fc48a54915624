"""A checkpoint of training: weights, optimiser, normalisation, world and random states, in one safetensors file.

A training that goes on from its checkpoint ends in the same expert, bit for bit, as one that was never stopped.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from stable_baselines3 import PPO

from iifl.experts.adapter import TrainingFleet

FILE = "checkpoint.safetensors"
Tensors = dict[str, torch.Tensor]


def save_checkpoint(folder: Path, ppo: PPO, fleet: TrainingFleet, meta: dict[str, Any]) -> None:
    """Write everything that training needs to go on; a stop at any moment leaves a whole checkpoint."""
    normalisation = fleet.normalisation
    arrays = {
        **{f"task.{k}": np.asarray(v) for k, v in fleet.task.state_dict().items()},
        "normalisation.mean": normalisation.mean,
        "normalisation.variance": normalisation.variance,
        "normalisation.count": np.array(normalisation.count),
        "finished": np.array(fleet.finished, float).reshape(-1, 3),
        "last.observations": ppo._last_obs,
        "last.starts": ppo._last_episode_starts,
        "random.numpy": _numpy_state(),
    }
    tensors = {k: torch.from_numpy(np.asarray(v, order="C")) for k, v in arrays.items()}
    tensors |= {f"policy.{k}": v.contiguous() for k, v in ppo.policy.state_dict().items()}
    for index, moments in ppo.policy.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{k}": v for k, v in moments.items()}
    tensors["random.torch"] = torch.get_rng_state()
    draft = folder / "checkpoint.draft"
    save_file(tensors, draft, {"training": json.dumps(meta | {"steps": ppo.num_timesteps})})
    draft.replace(folder / FILE)


def load_checkpoint(folder: Path, ppo: PPO, fleet: TrainingFleet) -> None:
    """Put the training back to where the checkpoint in the folder was written."""
    with safe_open(folder / FILE, "pt") as file:
        tensors: Tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
    ppo.policy.load_state_dict(_part(tensors, "policy."))
    moments: dict[int, Tensors] = {}
    for key, value in _part(tensors, "optimizer.").items():
        index, moment = key.split(".")
        moments.setdefault(int(index), {})[moment] = value
    ppo.policy.optimizer.load_state_dict({**ppo.policy.optimizer.state_dict(), "state": moments})
    fleet.task.load_state_dict({k: v.numpy() for k, v in _part(tensors, "task.").items()})
    fleet.normalisation.mean = tensors["normalisation.mean"].numpy()
    fleet.normalisation.variance = tensors["normalisation.variance"].numpy()
    fleet.normalisation.count = float(tensors["normalisation.count"])
    fleet.finished.extend(map(tuple, tensors["finished"].tolist()))
    ppo._last_obs = tensors["last.observations"].numpy()
    ppo._last_episode_starts = tensors["last.starts"].numpy()
    ppo.num_timesteps = checkpoint_meta(folder)["steps"]
    torch.set_rng_state(tensors["random.torch"])
    *keys, position = tensors["random.numpy"].tolist()
    state = {"key": np.array(keys, np.uint32), "pos": position}
    np.random.set_state({"bit_generator": "MT19937", "state": state})  # noqa: NPY002 (see `_numpy_state`)


def checkpoint_meta(folder: Path) -> dict[str, Any]:
    """What was written beside the tensors; empty where there is no checkpoint."""
    if not (folder / FILE).exists():
        return {}
    with safe_open(folder / FILE, "pt") as file:
        meta: dict[str, Any] = json.loads(file.metadata()["training"])
    return meta


def _numpy_state() -> np.ndarray:
    """NumPy's global generator, from which stable-baselines3 draws its minibatches."""
    twister = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    return np.append(twister["key"].astype(np.int64), twister["pos"])


def _part(tensors: Tensors, prefix: str) -> Tensors:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
