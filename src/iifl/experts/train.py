"""Training of an expert: proximal policy optimisation (stable-baselines3) on a fleet of its world.

What is written to the folder: a checkpoint from which training goes on, the learning curve (`curve.csv`, `curve.png`),
and at the end the expert itself with its card, measured over fresh episodes. To ship an expert, copy those two into
`weights/`.
"""

import json
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import stable_baselines3
import torch
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

from iifl.experts.adapter import TrainingFleet
from iifl.experts.checkpoint import checkpoint_meta, load_checkpoint, save_checkpoint
from iifl.experts.curve import Curve
from iifl.experts.evaluate import evaluate_expert
from iifl.experts.expert import Expert
from iifl.experts.practice import PRACTICE
from iifl.experts.settings import SETTINGS, TrainingSettings
from iifl.experts.shaping import SHAPING
from iifl.registry import TASKS, nearest

RATE_BOUNDS = (1e-5, 1e-3)
CHECKPOINT_SECONDS = 60.0
EVALUATED_EPISODES = 200


def train_expert(
    name: str,
    out: Path,
    *,
    steps: int | None = None,
    seed: int = 0,
    threads: int = 0,
    settings: TrainingSettings | None = None,
) -> Expert:
    """Train the expert of world `name` into the folder `out`; goes on from the checkpoint that it finds there."""
    if settings is None:
        if name not in SETTINGS:
            raise ValueError(f"no settings to train an expert of '{name}': {nearest(name, SETTINGS)}")
        settings = SETTINGS[name]
    if steps is not None:
        settings = replace(settings, steps=steps)
    torch.set_num_threads(threads or torch.get_num_threads())
    out.mkdir(parents=True, exist_ok=True)
    task = PRACTICE.get(name, TASKS.load(name))(settings.robots, seed=seed, threads=threads)
    fleet = TrainingFleet(task, settings.reward_scale, SHAPING.get(name), settings.episode_steps)
    ppo = _ppo(fleet, settings, seed)
    training = _Training(fleet, settings, out)
    training.resume(ppo)
    if ppo.num_timesteps < settings.steps:
        remaining = settings.steps - ppo.num_timesteps
        ppo.learn(remaining, callback=training, log_interval=sys.maxsize, reset_num_timesteps=False)
    training.curve.draw(out / "curve.png")
    expert = _expert(ppo, fleet)
    expert.save(out / f"{name}.safetensors")
    evaluation = evaluate_expert(name, expert, episodes=EVALUATED_EPISODES, threads=threads)
    card = {
        "world": name,
        "evaluation": asdict(evaluation),
        "training": {
            "command": f"iifl train-expert {name} --steps {settings.steps} --seed {seed}",
            "steps": ppo.num_timesteps,
            "seconds": round(training.seconds),
            "library": f"stable-baselines3 {stable_baselines3.__version__}",
            "settings": asdict(settings),
        },
    }
    (out / f"{name}.json").write_text(json.dumps(card, indent=1) + "\n")
    return expert


def _ppo(fleet: TrainingFleet, settings: TrainingSettings, seed: int) -> PPO:
    hidden = list(settings.hidden)
    return PPO(
        "MlpPolicy",
        fleet,
        n_steps=settings.horizon,
        batch_size=settings.minibatch,
        n_epochs=settings.epochs,
        gamma=settings.discount,
        gae_lambda=settings.trace,
        clip_range=settings.clip,
        ent_coef=settings.entropy,
        vf_coef=1.0,
        max_grad_norm=1.0,
        seed=seed,
        device="cpu",
        policy_kwargs={
            "net_arch": {"pi": hidden, "vf": hidden},
            "activation_fn": torch.nn.ELU,
            "log_std_init": settings.initial_log_std,
        },
    )


class _Training(BaseCallback):
    """What happens between updates: the learning rate, the curve, the progress bar and the checkpoints."""

    def __init__(self, fleet: TrainingFleet, settings: TrainingSettings, out: Path) -> None:
        super().__init__()
        self.fleet, self.settings, self.out = fleet, settings, out
        self.curve = Curve(out)
        self.rate = settings.learning_rate
        self.seconds = 0.0  # of the sessions before this one

    def _init_callback(self) -> None:
        self.model.lr_schedule = lambda _progress: self.rate
        self.start = self.saved = time.monotonic()

    def _on_training_start(self) -> None:
        self.bar = Progress(TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
        self.bar.start()
        self.line = self.bar.add_task("training", total=self.settings.steps)

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        self._after_update()
        if time.monotonic() - self.saved > CHECKPOINT_SECONDS:
            self.save()

    def _after_update(self) -> None:
        divergence = self.model.logger.name_to_value.get("train/approx_kl")
        if divergence is None:
            return  # nothing was learned yet
        if divergence > 2 * self.settings.target_divergence:
            self.rate = max(self.rate / 1.5, RATE_BOUNDS[0])
        elif divergence < self.settings.target_divergence / 2:
            self.rate = min(self.rate * 1.5, RATE_BOUNDS[1])
        self._report(float(divergence))

    def _on_training_end(self) -> None:
        self._after_update()
        self.bar.stop()
        self.save()
        self.seconds = self._elapsed()

    def _report(self, divergence: float) -> None:
        finished = np.array(self.fleet.finished, float).reshape(-1, 3)
        mean_return, length, failure = finished.mean(axis=0) if len(finished) else [np.nan] * 3
        policy: Any = self.model.policy
        std = float(policy.log_std.detach().exp().mean())
        self.curve.add(self.num_timesteps, self._elapsed(), mean_return, length, failure, self.rate, divergence, std)
        self.bar.update(
            self.line, completed=self.num_timesteps, description=f"return {mean_return:.1f} · failed {failure:.0%}"
        )

    def _elapsed(self) -> float:
        return self.seconds + time.monotonic() - self.start

    def save(self) -> None:
        """Write a checkpoint."""
        self.saved = time.monotonic()
        meta = {"settings": asdict(self.settings), "seconds": self._elapsed(), "learning_rate": self.rate}
        assert isinstance(self.model, PPO)
        save_checkpoint(self.out, self.model, self.fleet, meta)

    def resume(self, ppo: PPO) -> None:
        """Go on from the checkpoint in the folder, if there is one."""
        meta = checkpoint_meta(self.out)
        if not meta:
            return
        self._check_same(meta["settings"])
        load_checkpoint(self.out, ppo, self.fleet)
        self.rate, self.seconds = meta["learning_rate"], meta["seconds"]
        self.curve.forget_after(meta["steps"])

    def _check_same(self, saved: dict[str, Any]) -> None:
        mine = json.loads(json.dumps(asdict(self.settings)))
        changed = sorted(key for key in mine if key != "steps" and mine[key] != saved.get(key))
        if changed:
            raise ValueError(
                f"the checkpoint in {self.out} was trained with other settings ({', '.join(changed)}); "
                "train into another folder, or remove this one"
            )


def _expert(ppo: PPO, fleet: TrainingFleet) -> Expert:
    """The mean of the trained policy, as layers."""
    policy: Any = ppo.policy
    normalisation = fleet.normalisation
    linears = [m for m in policy.mlp_extractor.policy_net if isinstance(m, torch.nn.Linear)] + [policy.action_net]
    return Expert(
        mean=normalisation.mean.astype(np.float32),
        std=np.sqrt(normalisation.variance + 1e-8).astype(np.float32),
        weights=tuple(m.weight.detach().numpy().copy() for m in linears),
        biases=tuple(m.bias.detach().numpy().copy() for m in linears),
    )
