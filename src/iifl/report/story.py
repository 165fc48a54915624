"""What an experiment says about its own rows: the file `report.json` beside `summary.json`.

The numbers stay in the rows; the story holds what a reader needs to judge them: what was measured, what the paper
reports, which claims are tested, the settings, the differences from the paper and why, and how to run it again.
"""

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from iifl.registry import nearest
from iifl.report.strict import from_json, read_json, write_json

Better = Literal["higher", "lower", "neither"]
Relation = Literal["at least", "at most", "more than", "less than"]


@dataclass(frozen=True)
class Metric:
    """One column of the tables. With `trials` it is a rate of k out of n, in [0, 1], and is shown in percent."""

    name: str
    """As in the rows."""
    title: str
    better: Better = "neither"
    unit: str = ""
    trials: str | None = None
    """For a rate: the metric of the rows that holds n, the number of trials behind each value."""


@dataclass(frozen=True)
class PaperNumber:
    """A number the paper reports, in the unit of the rows (a rate in [0, 1]). `None` stands for any."""

    metric: str
    algorithm: str
    value: float
    deviation: float | None = None
    task: str | None = None
    supervisors: str | None = None


@dataclass(frozen=True)
class Claim:
    """A sentence that the rows confirm or do not: the mean of `algorithm` in `relation` to a bound.

    The bound is the number `bound`, or `factor` times the mean of every one of the algorithms `against`.
    """

    text: str
    metric: str
    algorithm: str
    relation: Relation
    bound: float | None = None
    against: tuple[str, ...] = ()
    factor: float = 1.0
    task: str | None = None
    supervisors: str | None = None

    def __post_init__(self) -> None:
        if (self.bound is None) == (not self.against):
            raise ValueError(f"the claim '{self.text}' needs either a bound or algorithms to compare with")


@dataclass(frozen=True)
class Difference:
    """Where this experiment departs from the paper's."""

    paper: str
    here: str
    why: str


@dataclass(frozen=True)
class FigureNote:
    """A figure of the folder: its file name (without the ending), caption, and description for who cannot see it."""

    file: str
    caption: str
    description: str

    def __post_init__(self) -> None:
        if Path(self.file).name != self.file:
            raise ValueError(f"a figure is a plain file name in its folder, not '{self.file}'")


@dataclass(frozen=True)
class Story:
    """The whole of `report.json`."""

    title: str
    summary: str
    """One paragraph: what is asked, what was done."""
    metrics: tuple[Metric, ...]
    reference: str = ""
    """Where this is in the paper, for example "Table 1"."""
    algorithms: tuple[str, ...] = ()
    """The order of the rows of the tables; algorithms that are not named follow."""
    labels: dict[str, str] = field(default_factory=dict)
    """How names of tasks, supervisors and algorithms are shown."""
    paper: tuple[PaperNumber, ...] = ()
    claims: tuple[Claim, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)
    differences: tuple[Difference, ...] = ()
    commands: tuple[str, ...] = ()
    figures: tuple[FigureNote, ...] = ()

    def __post_init__(self) -> None:
        known = [metric.name for metric in self.metrics]
        used = [number.metric for number in self.paper] + [claim.metric for claim in self.claims]
        for name in used:
            if name not in known:
                raise ValueError(f"unknown metric '{name}' in the paper's numbers or claims: {nearest(name, known)}")

    def label(self, name: str) -> str:
        """How `name` is shown."""
        return self.labels.get(name) or _ALGORITHM_LABELS.get(name, name)


_ALGORITHM_LABELS = {"bc": "BC", "ibc": "IBC", "ifl": "IFL", "iifl-r": "IIFL-R", "iifl": "IIFL"}

STORY_FILE = "report.json"


def write_story(folder: Path, story: Story) -> Path:
    """Write `report.json` into a result folder."""
    path = folder / STORY_FILE
    write_json(path, dataclasses.asdict(story))
    return path


def read_story(path: Path) -> Story:
    """The story of a file, or an error that names the file and the entry."""
    return from_json(Story, read_json(path), str(path))
