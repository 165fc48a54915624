"""How likely a robot is to fail: the risk critic of Fleet-DAgger (C.U.R.) and Fleet-ThriftyDAgger.

Q_risk(s, a) = E[Σ_k γ^k [the robot fails k steps after taking a in s, then acting by its policy]] ∈ [0, 1], learned by
temporal differences: the target of (s, a) is c' + γ (1 − e) Q_target(s', a'), where c' says that the step ended in a
failure, e that it ended the episode, and a' is what the policy proposes in s'. An episode that ends in success or by
its time limit holds no further risk.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from iifl.encoders import EncoderConfig, Standardisation, make_encoder
from iifl.records import BoolArray, FloatArray, Form, ObservationArray, finite_rows


@dataclass(frozen=True)
class RiskConfig:
    """How the risk critic learns."""

    discount: float = 0.99  # γ
    hidden: int = 128
    learning_rate: float = 1e-3
    batch: int = 256
    target_rate: float = 0.01  # share of the critic that its slow copy takes up in each step
    capacity: int = 100_000  # transitions kept, the newest

    def __post_init__(self) -> None:
        if not 0 <= self.discount < 1:
            raise ValueError(f"discount must be in [0, 1), not {self.discount}")
        if not 0 < self.target_rate <= 1:
            raise ValueError(f"target_rate must be in (0, 1], not {self.target_rate}")


class RiskCritic:
    """Q_risk over the transitions of the whole fleet. Its whole state, data included, is in its `state_dict`."""

    def __init__(self, observation: Form, action_size: int, config: RiskConfig, seed: int) -> None:
        self.config = config
        self._generator = torch.Generator().manual_seed(seed)
        self._online = _Network(observation, action_size, config, self._generator)
        self._target = _Network(observation, action_size, config, self._generator)
        self._target.load_state_dict(self._online.state_dict())
        self._weights = list(self._online.parameters())
        self._optimiser = torch.optim.Adam(self._weights, lr=config.learning_rate)
        self._optimiser_begin()
        rooms = {
            "s": observation.empty(config.capacity),
            "a": np.empty((config.capacity, action_size), np.float32),
            "s_next": observation.empty(config.capacity),
            "a_next": np.empty((config.capacity, action_size), np.float32),
            "failed": np.empty(config.capacity, np.float32),
            "ended": np.empty(config.capacity, np.float32),
        }
        self._columns = {name: torch.from_numpy(room) for name, room in rooms.items()}
        self._recorded = torch.zeros((), dtype=torch.int64)

    def _optimiser_begin(self) -> None:
        """Give Adam its moments before its first step, so that they are tensors like all the rest of the state."""
        for weight in self._weights:
            self._optimiser.state[weight] = {
                "step": torch.zeros(()),
                "exp_avg": torch.zeros_like(weight),
                "exp_avg_sq": torch.zeros_like(weight),
            }

    @property
    def size(self) -> int:
        """How many transitions are kept."""
        return min(int(self._recorded), self.config.capacity)

    def fit_normalisation(self, observations: ObservationArray) -> None:
        """Standardise observations by the mean and the standard deviation of these (k, *S)."""
        for network in (self._online, self._target):
            network.standardise.fit(torch.as_tensor(observations))

    @torch.no_grad()
    def predict(self, observations: ObservationArray, actions: FloatArray) -> FloatArray:
        """Q_risk(s, a) of every robot (N,)."""
        logits = self._online(torch.as_tensor(observations), torch.as_tensor(actions))
        risk: FloatArray = torch.sigmoid(logits).numpy()
        return risk

    def record(
        self,
        observations: ObservationArray,
        actions: FloatArray,
        next_observations: ObservationArray,
        next_actions: FloatArray,
        *,
        failed: BoolArray,
        ended: BoolArray,
    ) -> None:
        """Keep k transitions of robots that moved: the step failed, the episode is over (a failure is always its end).

        `next_actions` (k, A) are the policy's own proposals in the next states; both are ignored where it is over.
        """
        arrays = (observations, actions, next_observations, next_actions, failed, ended | failed)
        k = len(actions)
        finite = np.stack([finite_rows(array) for array in arrays]).all(0)
        if not finite.all():
            row = int(finite.argmin())
            raise ValueError(f"transition {row} for the risk critic holds NaN or infinity; nothing was recorded")
        if k > self.config.capacity:
            raise ValueError(f"{k} transitions at once, but the risk critic keeps {self.config.capacity}")
        slots = (int(self._recorded) + torch.arange(k)) % self.config.capacity
        for column, array in zip(self._columns.values(), arrays, strict=True):
            column[slots] = torch.as_tensor(array, dtype=column.dtype)
        self._recorded += k

    def learn(self, steps: int) -> float:
        """Take `steps` gradient steps on the transitions recorded; return the mean loss."""
        if self.size == 0:
            raise ValueError("the risk critic has no transitions yet: record some before it learns")
        total = 0.0
        for _ in range(steps):
            picks = torch.randint(self.size, (self.config.batch,), generator=self._generator)
            s, a, s_next, a_next, failed, ended = (column[picks] for column in self._columns.values())
            with torch.no_grad():
                later = torch.sigmoid(self._target(s_next, a_next))
                target = failed + self.config.discount * (1 - ended) * later
            # Cross-entropy with a soft target is least at the target's mean, and does not stall near 0 and 1.
            loss = binary_cross_entropy_with_logits(self._online(s, a), target)
            self._optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimiser.step()
            with torch.no_grad():
                for slow, weight in zip(self._target.parameters(), self._weights, strict=True):
                    slow.lerp_(weight, self.config.target_rate)
            total += loss.item()
        return total / max(steps, 1)

    def state_dict(self) -> dict[str, Tensor]:
        """All that is needed to go on from here, as tensors of their own."""
        return {name: tensor.detach().clone() for name, tensor in self._tensors().items()} | {
            "generator": self._generator.get_state(),
            **{f"transitions.{name}": column[: self.size].clone() for name, column in self._columns.items()},
        }

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on from a state that `state_dict` gave."""
        for name, tensor in self._tensors().items():
            if state[name].shape != tensor.shape:
                raise ValueError(f"{name} of the saved risk critic is {state[name].shape}, here it is {tensor.shape}")
        with torch.no_grad():
            for name, tensor in self._tensors().items():
                tensor.copy_(state[name])
        self._generator.set_state(state["generator"])
        for name, column in self._columns.items():
            column[: self.size] = state[f"transitions.{name}"]

    def _tensors(self) -> dict[str, Tensor]:
        """The tensors of the state that never change their shape, by name."""
        networks = {"online": self._online, "target": self._target}
        return {
            **{f"{kind}.{name}": t for kind, net in networks.items() for name, t in net.state_dict().items()},
            **{
                f"optimiser.{i}.{name}": moment
                for i, weight in enumerate(self._weights)
                for name, moment in self._optimiser.state[weight].items()
            },
            "recorded": self._recorded,
        }


class _Network(nn.Module):
    """The logit of Q_risk from s and a, with the normalisation of s as part of its state."""

    def __init__(self, observation: Form, action_size: int, config: RiskConfig, generator: torch.Generator) -> None:
        super().__init__()
        self.standardise = Standardisation(observation)
        self.encoder = make_encoder(observation, 1, EncoderConfig(), generator)
        self.layers = nn.Sequential(
            nn.Linear(self.encoder.features + action_size, config.hidden),
            nn.ReLU(),
            nn.Linear(config.hidden, config.hidden),
            nn.ReLU(),
            nn.Linear(config.hidden, 1),
        )
        for layer in self.layers:
            if isinstance(layer, nn.Linear):
                nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu", generator=generator)
                nn.init.zeros_(layer.bias)

    def forward(self, s: Tensor, a: Tensor) -> Tensor:
        features = self.encoder(self.standardise(s)).reshape(len(a), -1)
        logit: Tensor = self.layers(torch.cat([features, a], dim=1))
        return logit[:, 0]
