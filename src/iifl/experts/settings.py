"""How each expert is trained: the settings of proximal policy optimisation, world by world."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingSettings:
    """PPO on many robots with short horizons, as in massively parallel training.

    The learning rate follows the divergence of the policy from the one that collected the data: it falls by a factor
    of 1.5 above twice `target_divergence` and rises below half of it.
    """

    steps: int
    """Steps of all robots together."""
    robots: int = 512
    horizon: int = 24
    minibatch: int = 4096
    epochs: int = 4
    hidden: tuple[int, ...] = (128, 64)
    discount: float = 0.99
    trace: float = 0.95
    """λ of generalised advantage estimation."""
    clip: float = 0.2
    learning_rate: float = 3e-4
    target_divergence: float = 0.01
    entropy: float = 0.0
    reward_scale: float = 0.01
    """Brings returns to the size that a value network learns easily."""
    initial_log_std: float = 0.0
    episode_steps: int | None = None
    """Cut training episodes short here, where the start of an episode is the hardest part of it."""


SETTINGS: dict[str, TrainingSettings] = {
    "ball_balance": TrainingSettings(
        steps=18_000_000,
        hidden=(64, 64),
        entropy=0.001,
        reward_scale=0.1,
        initial_log_std=-0.5,
        episode_steps=150,
    ),
    "ant": TrainingSettings(steps=25_000_000),
    "anymal": TrainingSettings(
        steps=30_000_000,
        robots=1024,
        minibatch=6144,
        epochs=5,
        hidden=(128, 128),
        entropy=0.002,
        reward_scale=1.0,
        episode_steps=300,
    ),
}
