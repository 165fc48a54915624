"""The fleet loop: the only module that knows tasks, policies, allocation and supervisors together.

One synchronous timestep of the fleet, in the words of section 3 of the paper: observe, act, doubt, allocate, supervise,
step, record, learn. There is one loop. With nobody to help it is a trial of the robots alone; with people who only
reset, it is BC and IBC; with people sent to the most uncertain robots, IFL and IIFL.
"""

from dataclasses import dataclass, field

import numpy as np

from iifl.allocation.assign import assign
from iifl.allocation.priority import Order, Signals
from iifl.allocation.risk import RiskCritic
from iifl.memory import Memory
from iifl.policies.base import Policy
from iifl.records import (
    NOBODY,
    Assignment,
    BoolArray,
    FloatArray,
    IntArray,
    ObservationArray,
    Situation,
    Timestep,
)
from iifl.runs.checkpoint import State, join, part
from iifl.runs.random_state import numpy_state, set_numpy_state
from iifl.supervisors.base import Attentive, Supervisors
from iifl.tasks.fleet import FleetTask


@dataclass(frozen=True)
class Rules:
    """The numbers of section 3: how long people stay, how long a hard reset takes, when the policy learns."""

    minimum_intervention: int  # t_T
    reset_steps: int  # t_R
    update_every: int  # t̂, 0 for never
    gradient_steps: int  # at each update


@dataclass(frozen=True)
class Lesson:
    """The human-labelled transitions (s, a_human) of one timestep."""

    observations: ObservationArray  # (k, *S)
    actions: FloatArray  # (k, A)
    humans: IntArray  # (k,)


@dataclass
class Fleet:
    """N robots, M people and the policy they share, at one moment of a run."""

    task: FleetTask
    policy: Policy
    supervisors: Supervisors
    order: Order
    memory: Memory
    rules: Rules
    rng: np.random.Generator
    critic: RiskCritic | None = None

    timestep: int = field(init=False, default=0)
    human_actions: int = field(init=False, default=0)
    assignment: Assignment = field(init=False)
    reset_progress: IntArray = field(init=False)  # (N,) timesteps of the present hard reset that are done
    observations: ObservationArray = field(init=False)  # (N, *S)

    def __post_init__(self) -> None:
        robots = self.task.num_envs
        self.assignment = Assignment.nobody(robots)
        self.reset_progress = np.zeros(robots, np.int64)
        self.observations, _ = self.task.reset()
        self.supervisors.begin(np.arange(robots))

    def advance(self) -> tuple[Timestep, Lesson]:
        """One synchronous timestep of the whole fleet."""
        observations, failed = self.observations, self.task.failed.copy()

        decision = self.policy.decide(observations)
        risk = self.critic.predict(observations, decision.actions) if self.critic else None
        signals = Signals(decision.uncertainty, failed, risk, self.timestep, self.human_actions)

        priority = self.order(signals, self.rng)
        self.assignment = assign(
            self.assignment,
            priority,
            humans=self.supervisors.humans,
            minimum_intervention=self.rules.minimum_intervention,
            resetting=self.reset_progress > 0,
            rng=self.rng,
        )
        human_of, helped = self.assignment.human_of, self.assignment.human_of != NOBODY

        taught = helped & ~failed & self.order.teaches
        if isinstance(self.supervisors, Attentive):
            begins = helped & failed & (self.reset_progress == 0)
            now = Situation(self.timestep, human_of, taught, begins, priority.wants, decision.uncertainty)
            self.supervisors.attend(now, self.task)
        lesson = self._ask(np.flatnonzero(taught))
        actions = decision.actions.copy()
        actions[taught] = lesson.actions

        following, rewards, _, truncated, info = self.task.step(actions)
        ended = info["success"] | (truncated & ~info["failed"])

        progress = self.reset_progress + (helped & failed)
        hard_reset = progress == self.rules.reset_steps
        self.reset_progress = np.where(hard_reset, 0, progress)  # a new array: a saved state may hold the old one
        self._begin_episodes(ended | hard_reset)

        if self.critic:
            moved = np.flatnonzero(~failed)
            self.critic.record(
                observations[moved],
                actions[moved],
                following[moved],
                self.policy.act(following)[moved],  # there may be no robot that moved
                failed=info["failed"][moved],
                ended=ended[moved],
            )
            self.critic.learn(1)
        self.memory.add(lesson.observations, lesson.actions, lesson.humans)
        self.timestep += 1
        self.human_actions += int(helped.sum())
        if self.rules.update_every and self.timestep % self.rules.update_every == 0 and self.memory.size:
            self.policy.learn(self.memory, self.rules.gradient_steps)

        return (
            Timestep(human_of, taught, decision.uncertainty, rewards, failed, hard_reset, info["success"], ended),
            lesson,
        )

    def _ask(self, robots: IntArray) -> Lesson:
        """What their humans do with these robots."""
        humans, observations = self.assignment.human_of[robots], self.observations[robots]
        return Lesson(observations, self.supervisors.act(humans, robots, observations, self.task), humans)

    def _begin_episodes(self, mask: BoolArray) -> None:
        """Reset the robots of the mask and leave the others alone."""
        self.observations, _ = self.task.reset(options={"reset_mask": mask})
        self.supervisors.begin(np.flatnonzero(mask))

    def state_dict(self) -> State:
        """All that is needed to go on from here to the last bit."""
        own = {
            "timestep": np.array(self.timestep),
            "human_actions": np.array(self.human_actions),
            "human_of": self.assignment.human_of,
            "together": self.assignment.together,
            "reset_progress": self.reset_progress,
            "observations": self.observations,
            "rng": numpy_state(self.rng),
        }
        return join(
            fleet=own,
            task=self.task.state_dict(),
            policy=self.policy.state_dict(),
            supervisors=self.supervisors.state_dict(),
            memory=self.memory.state_dict(),
            critic=self.critic.state_dict() if self.critic else {},
        )

    def load_state_dict(self, state: State) -> None:
        """Go on from a state that `state_dict` gave."""
        own = part(state, "fleet")
        self.timestep, self.human_actions = int(own["timestep"]), int(own["human_actions"])
        self.assignment = Assignment(own["human_of"], own["together"])
        self.reset_progress, self.observations = own["reset_progress"], own["observations"]
        set_numpy_state(self.rng, own["rng"])
        self.task.load_state_dict(part(state, "task"))
        self.policy.load_state_dict(part(state, "policy"))
        self.supervisors.load_state_dict(part(state, "supervisors"))
        self.memory.load_state_dict(part(state, "memory"))
        if self.critic:
            self.critic.load_state_dict(part(state, "critic"))
