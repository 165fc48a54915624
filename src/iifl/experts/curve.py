"""The learning curve of a training: one line per update in a CSV file, and a figure of it."""

import csv
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

COLUMNS = ("steps", "seconds", "mean_return", "mean_length", "failure_rate", "learning_rate", "divergence", "std")


class Curve:
    """The file `curve.csv` in the folder of a training."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "curve.csv"

    def add(self, steps: int, *values: float) -> None:
        """Append the line of one update: what follows `steps` in `COLUMNS`."""
        new = not self.path.exists()
        with self.path.open("a", newline="") as file:
            writer = csv.writer(file)
            if new:
                writer.writerow(COLUMNS)
            writer.writerow([steps, *(f"{value:.6g}" for value in values)])

    def forget_after(self, steps: int) -> None:
        """Drop the updates that a resumed training will do again."""
        header, *lines = self.path.read_text().splitlines(keepends=True)
        self.path.write_text("".join([header, *(line for line in lines if int(line.split(",")[0]) <= steps)]))

    def draw(self, path: Path) -> None:
        """A figure of return and failure rate over steps."""
        rows = np.genfromtxt(self.path, delimiter=",", skip_header=1, ndmin=2)
        figure = Figure(figsize=(7, 3.5), layout="constrained")
        returns = figure.subplots()
        failures = returns.twinx()
        returns.plot(rows[:, 0], rows[:, 2], color="C0")
        failures.plot(rows[:, 0], rows[:, 4], color="C3", linewidth=0.8)
        returns.set(xlabel="steps of all robots", ylabel="mean return (with exploration)")
        returns.yaxis.label.set_color("C0")
        failures.set(ylabel="failure rate", ylim=(0, 1))
        failures.yaxis.label.set_color("C3")
        figure.savefig(path, dpi=150)
