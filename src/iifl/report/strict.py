"""JSON files into frozen dataclasses, strictly: an unknown, missing or wrong entry is an error that names its place."""

import dataclasses
import json
import math
import types
import typing
from pathlib import Path
from typing import Any, Literal, TypeVar, Union

from iifl.registry import nearest

Record = TypeVar("Record")


class ReportError(ValueError):
    """A result file that cannot be used; the message names the file, the place in it and the problem."""


def read_json(path: Path) -> Any:
    """The content of a JSON file, or an error that names the file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except FileNotFoundError:
        raise ReportError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as problem:  # JSON and Unicode errors are ValueErrors
        raise ReportError(f"{path}: not readable as JSON: {problem}") from problem


def write_json(path: Path, data: Any) -> None:
    """Write `data` as readable JSON."""
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def from_json(kind: type[Record], data: Any, where: str) -> Record:
    """`data` as a `kind` (a dataclass of strings, numbers, literals, tuples, dictionaries and further dataclasses)."""
    return typing.cast(Record, _convert(kind, data, where))


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number a result may have; leave the row out where there is no value")


def _convert(kind: Any, data: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    value: Any
    if dataclasses.is_dataclass(kind):
        value = _record(kind, data, where)
    elif origin is tuple:
        items = _checked(data, list, "a list", where)
        value = tuple(_convert(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(items))
    elif origin is dict:
        entries = _checked(data, dict, "an object", where)
        value = {key: _convert(arguments[1], entry, f"{where}.{key}") for key, entry in entries.items()}
    elif origin in (Union, types.UnionType):  # only `X | None` is used
        value = None if data is None else _convert(arguments[0], data, where)
    elif origin is Literal:
        value = _checked(data, str, "a string", where)
        if value not in arguments:
            raise ReportError(f"{where}: {data!r} is not one of {', '.join(map(repr, arguments))}")
    else:
        value = kind(_checked(data, *_SCALARS[kind], where))
        if isinstance(value, float) and not math.isfinite(value):
            raise ReportError(f"{where}: {data!r} is not finite")
    return value


_SCALARS: dict[Any, tuple[Any, str]] = {
    float: ((int, float), "a number"),
    int: (int, "a whole number"),
    str: (str, "a string"),
}


def _checked(data: Any, kinds: Any, name: str, where: str) -> Any:
    if not isinstance(data, kinds) or isinstance(data, bool):
        raise ReportError(f"{where}: must be {name}, not {data!r:.80}")
    return data


def _record(kind: Any, data: Any, where: str) -> Any:
    _checked(data, dict, "an object", where)
    fields = {field.name: field for field in dataclasses.fields(kind)}
    for key in data:
        if key not in fields:
            raise ReportError(f"{where}: unknown entry '{key}': {nearest(key, fields)}")
    for name, field in fields.items():
        if name not in data and field.default is field.default_factory is dataclasses.MISSING:
            raise ReportError(f"{where}: the entry '{name}' is missing")
    hints = typing.get_type_hints(kind)
    values = {key: _convert(hints[key], value, f"{where}.{key}") for key, value in data.items()}
    try:
        return kind(**values)
    except ReportError:
        raise
    except ValueError as problem:
        raise ReportError(f"{where}: {problem}") from problem
