"""A result folder: the tidy rows of `summary.json`, and what lies beside them."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from iifl.report.statistics import Estimate, mean_estimate, rate_estimate
from iifl.report.story import STORY_FILE, Metric, Story, read_story
from iifl.report.strict import ReportError, from_json, read_json, write_json

SUMMARY_FILE = "summary.json"
MANIFEST_FILE = "manifest.json"
FIGURE_ENDINGS = (".svg", ".png")  # the first that exists is shown


@dataclass(frozen=True)
class Row:
    """One measured number. A metric that does not apply has no row (ROHE of an algorithm without human actions)."""

    experiment: str
    task: str
    algorithm: str
    supervisors: str
    seed: int
    scale: str
    metric: str
    value: float


@dataclass(frozen=True)
class Group:
    """The rows of one task under one kind of supervision: what one table shows."""

    task: str
    supervisors: str
    rows: tuple[Row, ...]

    def algorithms(self, order: Sequence[str] = ()) -> list[str]:
        """The algorithms that have rows: those of `order` first, then as they come."""
        present = dict.fromkeys(row.algorithm for row in self.rows)
        return [name for name in order if name in present] + [name for name in present if name not in order]

    @cached_property
    def _values(self) -> dict[tuple[str, str], dict[int, float]]:
        values: dict[tuple[str, str], dict[int, float]] = {}
        for row in self.rows:
            values.setdefault((row.algorithm, row.metric), {})[row.seed] = row.value
        return values

    def values(self, algorithm: str, metric: str) -> list[float]:
        """The values of all seeds, in their order."""
        return [value for _, value in sorted(self._values.get((algorithm, metric), {}).items())]

    def estimate(self, algorithm: str, metric: Metric) -> Estimate | None:
        """The mean over the seeds with its interval; None where there are no rows."""
        by_seed = self._values.get((algorithm, metric.name), {})
        if not by_seed:
            return None
        if metric.trials is None:
            return mean_estimate(self.values(algorithm, metric.name))
        trials = self._values.get((algorithm, metric.trials), {})
        if set(trials) != set(by_seed):
            raise ReportError(
                f"'{metric.name}' of {algorithm} on {self.task} has seeds {sorted(by_seed)}, but its number of trials "
                f"'{metric.trials}' has seeds {sorted(trials)}"
            )
        seeds = sorted(by_seed)
        try:
            return rate_estimate([by_seed[seed] for seed in seeds], [trials[seed] for seed in seeds])
        except ValueError as problem:
            raise ReportError(f"'{metric.name}' of {algorithm} on {self.task}: {problem}") from problem

    def has(self, task: str | None, supervisors: str | None) -> bool:
        """Whether a note with this task and these supervisors (None: any) is about this group."""
        return task in (None, self.task) and supervisors in (None, self.supervisors)


@dataclass(frozen=True)
class Results:
    """One experiment at one scale: the rows of one or more folders, with their story."""

    experiment: str
    scale: str
    rows: tuple[Row, ...]
    story: Story
    folders: tuple[Path, ...]
    manifests: tuple[Any, ...]
    """The content of each `manifest.json` there is."""

    @cached_property
    def groups(self) -> list[Group]:
        """The rows by task and supervisors, in their order of appearance."""
        found: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            found.setdefault((row.task, row.supervisors), []).append(row)
        return [Group(task, supervisors, tuple(rows)) for (task, supervisors), rows in found.items()]

    def figure(self, name: str) -> Path | None:
        """The file of the figure `name`."""
        candidates = (folder / f"{name}{ending}" for folder in self.folders for ending in FIGURE_ENDINGS)
        return next((path for path in candidates if path.is_file()), None)


def write_summary(folder: Path, rows: Iterable[Row]) -> Path:
    """Write `summary.json` into a result folder."""
    path = folder / SUMMARY_FILE
    write_json(path, [dataclasses.asdict(row) for row in _unique(rows, str(path))])
    return path


def read_summary(path: Path) -> tuple[Row, ...]:
    """The rows of a `summary.json`, or an error that names the file, the row and the problem."""
    data = read_json(path)
    if not isinstance(data, list) or not data:
        raise ReportError(f"{path}: must be a list of rows with at least one row")
    return _unique((from_json(Row, item, f"{path}: row {i}") for i, item in enumerate(data)), str(path))


def load_results(folders: Sequence[Path]) -> list[Results]:
    """All experiments of the folders (or of their subfolders); folders of one experiment and scale become one."""
    if not folders:
        raise ReportError("no result folder given: name at least one folder with a summary.json")
    single = [_load_folder(inner) for folder in folders for inner in _result_folders(folder)]
    merged: dict[tuple[str, str], list[Results]] = {}
    for results in single:
        merged.setdefault((results.experiment, results.scale), []).append(results)
    return [_merge(parts) for parts in merged.values()]


def _result_folders(folder: Path) -> list[Path]:
    if (folder / SUMMARY_FILE).exists():
        return [folder]
    inner = sorted(path.parent for path in folder.glob(f"*/{SUMMARY_FILE}"))
    if not inner:
        raise ReportError(f"{folder}: neither this folder nor one of its subfolders holds a {SUMMARY_FILE}")
    return inner


def _load_folder(folder: Path) -> Results:
    rows = read_summary(folder / SUMMARY_FILE)
    kinds = {(row.experiment, row.scale) for row in rows}
    if len(kinds) > 1:
        raise ReportError(f"{folder / SUMMARY_FILE}: one folder holds one experiment at one scale, not {sorted(kinds)}")
    experiment, scale = kinds.pop()
    story_file, manifest_file = folder / STORY_FILE, folder / MANIFEST_FILE
    story = read_story(story_file) if story_file.exists() else _plain_story(experiment, rows)
    manifests = (read_json(manifest_file),) if manifest_file.exists() else ()
    return Results(experiment, scale, rows, story, (folder,), manifests)


def _plain_story(experiment: str, rows: Sequence[Row]) -> Story:
    """For rows without a `report.json`: every metric is a column, and nothing is claimed."""
    names = dict.fromkeys(row.metric for row in rows)
    metrics = tuple(Metric(name, name.replace("_", " ").capitalize()) for name in names)
    title = experiment.replace("_", " ").replace("-", " ").capitalize()
    return Story(title, f"All metrics of '{experiment}', as measured.", metrics)


def _merge(parts: Sequence[Results]) -> Results:
    first = parts[0]
    told = [part for part in parts if any((folder / STORY_FILE).exists() for folder in part.folders)]
    for part in told[1:]:
        if part.story != told[0].story:
            raise ReportError(
                f"{part.folders[0] / STORY_FILE} and {told[0].folders[0] / STORY_FILE} tell '{first.experiment}' "
                f"at scale '{first.scale}' differently: report on them apart, or run them with the same version"
            )
    names = " and ".join(str(folder) for part in parts for folder in part.folders)
    rows = _unique((row for part in parts for row in part.rows), names)
    story = told[0].story if told else _plain_story(first.experiment, rows)
    folders = tuple(folder for part in parts for folder in part.folders)
    manifests = tuple(manifest for part in parts for manifest in part.manifests)
    return Results(first.experiment, first.scale, rows, story, folders, manifests)


def _unique(rows: Iterable[Row], where: str) -> tuple[Row, ...]:
    rows = tuple(rows)
    counts = Counter(dataclasses.replace(row, value=0.0) for row in rows)
    twice = [row for row, count in counts.items() if count > 1]
    if twice:
        row = twice[0]
        raise ReportError(
            f"{where}: more than one value for {row.metric} of {row.algorithm} on {row.task} "
            f"({row.supervisors}, seed {row.seed}, scale {row.scale})"
        )
    return rows
