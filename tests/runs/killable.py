"""A run in a process of its own that tells how far it is, so that a test knows when to kill it: killable.py FOLDER."""

import sys
from pathlib import Path

import torch

from iifl.config import RunConfig, from_dict
from iifl.run import execute
from iifl.runs.files import read_json


def main(folder: Path) -> None:
    """The run of the configuration beside its folder."""
    torch.set_num_threads(1)
    config: RunConfig = from_dict(RunConfig, read_json(folder.with_suffix(".json")))
    execute(config, folder, lambda stage, done, total: print(stage, done, sep="\t", flush=True))  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
