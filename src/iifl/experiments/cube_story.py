"""What the cube-stacking report says about its rows: the paper's numbers, the claims, and what differs."""

from collections.abc import Sequence

from iifl.config import Algorithm, RunConfig
from iifl.experiments.scale import Scale
from iifl.report.story import Claim, Difference, FigureNote, Metric, PaperNumber, Story

ALGORITHMS: tuple[Algorithm, ...] = ("bc", "ibc", "ifl", "iifl-r", "iifl")
KINDS = {4: "scripted", 2: "two_kinds"}
"""The people of Table 1 and of Table 5, as the registry has them."""
TIMESTEPS, REWARD_TIMESTEPS = 10_000, 1000
"""The timesteps that the paper's successes are of, and those that its average reward is of (see the differences)."""
GOAL = 267.0
"""Ten times the published successes of IIFL with four kinds of supervisors."""

_PUBLISHED: dict[int, dict[Algorithm, tuple[tuple[float, float], ...]]] = {  # average reward, successes, ROHE
    4: {
        "bc": ((29.27, 14.05), (0.3, 0.5)),
        "ibc": ((24.96, 0.83), (0.0, 0.0)),
        "ifl": ((230.39, 53.41), (7.0, 2.2), (2.30, 0.53)),
        "iifl-r": ((166.24, 28.63), (0.0, 0.0), (1.66, 0.29)),
        "iifl": ((784.26, 122.41), (26.7, 4.5), (7.84, 1.22)),
    },
    2: {
        "bc": ((23.45, 0.99), (0.0, 0.0)),
        "ibc": ((30.32, 2.78), (0.0, 0.0)),
        "ifl": ((307.87, 118.59), (9.3, 4.7), (3.08, 1.19)),
        "iifl-r": ((244.98, 32.58), (0.0, 0.0), (2.45, 0.33)),
        "iifl": ((604.17, 263.06), (17.7, 11.1), (6.04, 2.63)),
    },
}
_METRICS = (
    Metric("reward_per_1000", "Average reward", "higher"),
    Metric("successes_per_10000", "Task successes in 10,000 timesteps", "higher"),
    Metric("rohe_total_reward", "ROHE", "higher"),
    Metric("successes", "Task successes", "higher"),
    Metric("successes_alone", "of them without help", "higher"),
    Metric("success_rate", "Success of the robot alone", "higher", trials="trials"),
    Metric("human_actions", "Human actions"),
    Metric("advantage", "Successes in 10,000 timesteps beyond those of IFL", "higher"),
    Metric("advantage_growth", "What four kinds add to that beyond two", "higher"),
)


def story_of(supervisors: Sequence[int], scale: Scale, config: RunConfig) -> Story:
    """What the reader needs to judge the rows; `config` is a run of IIFL."""
    fleet, learning = config.fleet, config.learning
    chosen = "" if len(supervisors) == len(KINDS) else f" --supervisors {supervisors[0]}"
    return Story(
        title="Cube stacking: people who grasp in different ways",
        reference="Section 5.2, Tables 1 and 5",
        summary=(
            "A hundred Franka arms stack cubes; ten people help, in four groups (or in two) that take the cube by "
            "different faces. The policies are frozen, so help counts at execution alone. Does an implicit policy, and "
            "help where it is unsure, make more of the same demonstrations and the same human time?"
        ),
        algorithms=ALGORITHMS,
        labels={
            "cube_stacking": "Cube stacking",
            KINDS[4]: "four kinds of supervisors",
            KINDS[2]: "two kinds of supervisors",
        },
        metrics=_METRICS,
        paper=tuple(
            PaperNumber(metric.name, algorithm, value, deviation, supervisors=KINDS[kinds])
            for kinds in supervisors
            for algorithm, numbers in _PUBLISHED[kinds].items()
            for metric, (value, deviation) in zip(_METRICS, numbers, strict=False)
        ),
        claims=_claims(supervisors),
        settings={
            "Fleet": f"N = {fleet.robots}, M = {fleet.humans}, T = {fleet.timesteps:,}, t_T = "
            f"{fleet.minimum_intervention}, û = 0, frozen policies",
            "Offline": f"the first {learning.transitions:,} transitions of each kind of supervisors",
            "Learning": f"{learning.pretraining_steps:,} gradient steps; preset best (docs/cube-stacking.md)",
        },
        differences=_differences(fleet.timesteps),
        commands=(f"iifl reproduce cube-stacking --scale {scale}{chosen}",),
        figures=(
            FigureNote(
                "grasps",
                "The four kinds of supervisors on the same cube: grasp yaws θ, θ − π/2, θ − π and θ + π/2.",
                "Four renderings of a gripper around the same cube, turned by quarter turns.",
            ),
            FigureNote(
                "over-time",
                "Task successes up to each timestep, and those of them that nobody helped with; mean ± 1 standard "
                "deviation.",
                "A grid of curves over time: one column for each number of kinds of supervisors.",
            ),
        ),
    )


def _claims(supervisors: Sequence[int]) -> tuple[Claim, ...]:
    rivals = ("ifl", "iifl-r")
    four = KINDS[4]
    claims = [
        Claim(f"IIFL has more {what} than IFL and IIFL-R.", metric, "iifl", "more than", against=rivals, supervisors=k)
        for k in (KINDS[kinds] for kinds in supervisors)
        for what, metric in (
            ("successes", "successes_per_10000"),
            ("reward", "reward_per_1000"),
            ("return on human effort", "rohe_total_reward"),
        )
    ]
    if 4 in supervisors:
        text = f"IIFL has ten times its published successes: at least {GOAL:g} in {TIMESTEPS:,} timesteps."
        claims.append(Claim(text, "successes_per_10000", "iifl", "at least", bound=GOAL, supervisors=four))
    if len(supervisors) == len(KINDS):
        text = "Its advantage over IFL grows from two kinds of supervisors to four."
        claims.append(Claim(text, "advantage_growth", "iifl", "more than", bound=0.0, supervisors=four))
    return tuple(claims)


def _differences(timesteps: int) -> tuple[Difference, ...]:
    shorter = (
        Difference(
            f"T = {TIMESTEPS:,}.",
            f"T = {timesteps:,}; successes are also given per {TIMESTEPS:,} timesteps.",
            "So that a laptop does it; --scale paper has all of them.",
        ),
    )
    return (
        Difference("Isaac Gym.", "MuJoCo.", "Isaac Gym can no longer be installed."),
        Difference(
            "Average reward and ROHE = reward / (1 + human actions), without saying over how many timesteps a reward "
            "is summed; every published ROHE is a hundredth of the average reward.",
            f"Average reward is that of a robot in {REWARD_TIMESTEPS:,} timesteps.",
            "With N = 100 robots and M = 10 people always at work, ROHE is N/M times the mean reward of a robot-step, "
            "whatever T is; a hundredth of the average reward is that only if the latter is of 1,000 timesteps.",
        ),
        Difference(
            "10,000 demonstrated transitions, 2,500 for each of four supervisor policies; not said for two.",
            "2,500 for each kind of supervisors: 10,000 with four, 5,000 with two.",
            "The published scripts count by supervisor policy.",
        ),
        Difference(
            "A policy of its own for each algorithm.",
            "IBC, IIFL-R and IIFL act by one policy for each seed, BC and IFL by another.",
            "They learn the same from the same demonstrations; what differs is who gets help.",
        ),
        Difference(
            "Published hyper-parameters.",
            "The preset `best`: other features, a symmetry of the world, more precision and more gradient steps.",
            "Every change and what it brought is in docs/cube-stacking.md; `iifl run --preset paper` has the paper's.",
        ),
        *(shorter if timesteps != TIMESTEPS else ()),
    )
