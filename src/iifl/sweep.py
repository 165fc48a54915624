"""A sweep: tasks × algorithms × seeds, each run in its own folder, on this machine or on many.

The jobs are chains (IIFL-R follows the IIFL of the same task and seed), and what became of the runs is read from their
folders. A sweep that was stopped goes on when it is begun again; what is finished is only loaded.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from iifl.chain import Chain, chained, execute_chain, needs_budget
from iifl.checks import ConfigError
from iifl.config import RunConfig
from iifl.pool import Job, run_all
from iifl.report.page import build_report
from iifl.report.results import Row, write_summary
from iifl.report.story import Metric, Story, write_story
from iifl.run import start_again
from iifl.runs.folder import RunFolder

NAME, SCALE = "sweep", "custom"
METRICS = (
    Metric("successes", "Successes", "higher"),
    Metric("hard_resets", "Hard resets", "lower"),
    Metric("human_actions", "Human actions"),
    Metric("rohe_total_success", "ROHE (successes)", "higher"),
    Metric("average_reward", "Average reward", "higher"),
    Metric("success_rate", "Success alone", "higher", trials="trials"),
)
SHOWN = ("successes", "hard_resets", "human_actions", "success_rate")
"""What the table of all runs shows."""

# How long runs take beside each other, and their stages in them: for the estimate of the time left only.
_WORK = {"bc": 1.0, "ibc": 2.0, "ifl": 2.0, "iifl-r": 3.0, "iifl": 3.0}
_STAGES = {"demonstrate": 0.05, "pretrain": 0.25, "calibrate": 0.2, "fleet at work": 0.45, "trials": 0.05}


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep, in its folder."""

    config: RunConfig
    folder: Path

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.config.task} {self.config.algorithm.upper()} seed {self.config.seed}"


def sweep(
    configs: Sequence[RunConfig],
    out: Path,
    console: Console,
    *,
    command: str,
    fresh: bool = False,
    force: bool = False,
) -> list[str]:
    """Run them all and leave their summary and a report in `out`; the names of those that failed."""
    out = out.absolute()  # the workers of a cluster have folders of their own to begin in
    runs = [SweepRun(c, out / "runs" / f"{c.task}-{c.algorithm}-{c.seed}") for c in configs]
    groups = _chains(runs)
    if fresh:  # here and once, not in the jobs: one that is begun again after its machine died must go on
        for run in runs:
            start_again(run.folder)
    jobs = []
    for group in groups:
        chain = Chain(
            tuple(run.config for run in group),
            tuple(run.folder for run in group),
            NAME,
            SCALE,
            force,
        )
        names = [run.config.algorithm for run in group]
        work = sum(_WORK[name] for name in names) * max(group[0].config.fleet.timesteps, 1)
        title = f"{group[0].name}{', then IIFL-R' if len(group) > 1 else ''}"
        jobs.append(Job(title, execute_chain, (chain,), work, chained(_STAGES, names), group[0].folder / "log.txt"))
    longest_first = sorted(range(len(jobs)), key=lambda number: -jobs[number].work)
    outcomes = run_all([jobs[number] for number in longest_first], console, "Sweep")
    failed = [number for number, found in zip(longest_first, outcomes, strict=True) if found.error]
    console.print(_table(runs, {run.folder for number in failed for run in groups[number]}))
    rows = [Row(**row) for run in runs if _finished(run) for row in RunFolder.read(run.folder).read_summary()]
    if rows:
        write_summary(out, rows)
        write_story(out, _story(rows, command))
        console.print(f"The report is {build_report([out], out / 'report.html')}")
    return [jobs[number].name for number in failed]


def _chains(runs: Sequence[SweepRun]) -> list[list[SweepRun]]:
    """Each run alone, but IIFL-R without a budget behind the IIFL of its task and seed."""
    chains = {(run.config.task, run.config.algorithm, run.config.seed): [run] for run in runs}
    for run in runs:
        if needs_budget(run.config):
            task, seed = run.config.task, run.config.seed
            if (task, "iifl", seed) not in chains:
                raise ConfigError(
                    "iifl-r has the human actions of iifl as its budget: name iifl among the algorithms as well, or "
                    "give --allocation.budget"
                )
            chains[task, "iifl", seed] += chains.pop((task, run.config.algorithm, seed))
    return list(chains.values())


def _finished(run: SweepRun) -> bool:
    return RunFolder.holds_run(run.folder) and (run.folder / "summary.json").exists()


def _table(runs: Sequence[SweepRun], failed: Collection[Path]) -> Table:
    """All runs, with what became of them."""
    table = Table(title=f"{len(runs)} runs")
    for name in ("task", "algorithm", "seed", "state"):
        table.add_column(name, no_wrap=True)
    for name in SHOWN:
        table.add_column(name.replace("_", " "), justify="right")
    for run in runs:
        rows = RunFolder.read(run.folder).read_summary() if _finished(run) else []
        values = {row["metric"]: f"{row['value']:,.6g}" for row in rows}
        state = "finished" if rows else "failed" if run.folder in failed else "not run"
        config = run.config
        told = (config.task, config.algorithm.upper(), str(config.seed), state)
        table.add_row(*told, *(values.get(name, "–") for name in SHOWN))
    return table


def _story(rows: Sequence[Row], command: str) -> Story:
    """What the reader needs to know of the rows."""
    measured = {row.metric for row in rows}
    return Story(
        title="A sweep",
        summary="Runs of tasks × algorithms × seeds, side by side.",
        algorithms=tuple(_WORK),
        metrics=tuple(metric for metric in METRICS if metric.name in measured),
        commands=(command,),
    )
