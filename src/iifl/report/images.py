"""Figures inside the page: as data addresses, so that the page is one file and a drawing cannot run anything."""

import base64
import re
import struct
from pathlib import Path
from xml.etree import ElementTree

from iifl.report.markup import Markup, element
from iifl.report.strict import ReportError

_PNG_START = b"\x89PNG\r\n\x1a\n"
_PNG_PIXELS_PER_PIXEL = 2  # pictures are drawn at about twice the density of a screen
_WIDE = 1.35


def image(path: Path, description: str) -> Markup:
    """The figure of a file; `description` is what somebody who cannot see it is told."""
    kind, width, height = _size(path)
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return element(
        "img",
        src=f"data:{kind};base64,{data}",
        alt=description,
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        class_="wide" if width > _WIDE * height else "",
    )


def _size(path: Path) -> tuple[str, float, float]:
    """Media type, and width and height on a screen."""
    try:
        if path.suffix == ".svg":
            root = ElementTree.parse(path).getroot()
            numbers = [float(number) for number in re.split(r"[\s,]+", root.attrib["viewBox"].strip())]
            return "image/svg+xml", numbers[2] * 96 / 72, numbers[3] * 96 / 72  # points to pixels
        start = path.read_bytes()[:24]
        if not start.startswith(_PNG_START):
            raise ValueError("it does not begin as a PNG does")
        width, height = struct.unpack(">II", start[16:24])
    except (OSError, KeyError, IndexError, ValueError, struct.error, ElementTree.ParseError) as problem:
        raise ReportError(f"{path}: not a readable figure: {problem}") from problem
    return "image/png", width / _PNG_PIXELS_PER_PIXEL, height / _PNG_PIXELS_PER_PIXEL
