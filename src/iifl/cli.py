"""The command line: `iifl COMMAND …`; each command is one file in `commands/`, loaded when it is given."""

import sys
from collections.abc import Sequence
from importlib import import_module

from rich.console import Console
from rich.markup import escape

from iifl.registry import nearest

COMMANDS = {
    "run": "Run one algorithm on one task; every number is an option.",
    "sweep": "Run tasks × algorithms × seeds, on this machine or on many.",
    "reproduce": "Reproduce a table or a figure of the paper, with its report.",
    "report": "Build one HTML page from any set of result folders.",
    "train-expert": "Train the expert supervisor of a world.",
    "demonstrate": "Record the people of a world at work, as a Parquet file.",
    "watch": "Film several robots and the people who help them.",
    "bench": "Measure speed, as ratios within one run.",
}
FAILURE, USAGE, INTERRUPTED = 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says. What a person can mend is a short error, without a traceback."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    console, errors = Console(), Console(stderr=True)
    if not given or given[0] in ("-h", "--help", "help"):
        console.print(_overview(), highlight=False)
        return 0
    name, *options = given
    if name == "--version":
        console.print(import_module("importlib.metadata").version("iifl"))
        return 0
    if name not in COMMANDS:
        errors.print(f"[red]Error:[/red] unknown command '{escape(name)}': {nearest(name, COMMANDS)}", highlight=False)
        return USAGE
    try:
        import_module(f"iifl.commands.{name.replace('-', '_')}").command(options, console)
    except KeyboardInterrupt:
        errors.print("Interrupted. Give the same command again to go on.")
        return INTERRUPTED
    except (ValueError, OSError, RuntimeError) as error:
        errors.print(f"[red]Error:[/red] {escape(str(error))}", highlight=False)
        return FAILURE
    return 0


def _overview() -> str:
    """What a newcomer sees first."""
    listed = "\n".join(f"  [bold]{name:<13}[/bold] {text}" for name, text in COMMANDS.items())
    return f"""\
[bold]iifl[/bold]: interactive fleet learning. One policy for a fleet of robots, learned
from a few people who each do the task in their own way.

Usage: iifl COMMAND \\[OPTIONS]

{listed}

To begin with:
  iifl reproduce navigation       the first experiment of the paper
  iifl run --algorithm iifl       one run of it
  iifl COMMAND --help             all options of a command"""
