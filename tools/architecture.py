"""Draws the picture of the architecture: `python -m tools.architecture [--out docs/images]`.

tools/architecture.yaml says what is in it and where. There is one file for light and one for dark
pages: an SVG in an <img> sees the colours of the system, and not those that a reader chose on the
site.
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import msgspec

SOURCE: Final = Path(__file__).with_suffix(".yaml")
IMAGES: Final = Path(__file__).parents[1] / "docs/images"
THEMES: Final[Mapping[str, Mapping[str, str]]] = {
    "architecture.svg": {
        "page": "#ffffff",
        "group": "#f4f6f9",
        "box": "#ffffff",
        "line": "#c3ccd8",
        "arrow": "#2563eb",
        "title": "#1b2733",
        "text": "#596675",
    },
    "architecture-dark.svg": {
        "page": "#131416",
        "group": "#1b1f24",
        "box": "#232930",
        "line": "#3d4753",
        "arrow": "#7aa7ff",
        "title": "#e8edf3",
        "text": "#a7b3c0",
    },
}
"""The colours of each file."""
TITLE: Final = (16, 0.69)
TEXT: Final = (14, 0.58)
"""The size of a text, and the width of a character in parts of it. Fonts differ; few are wider than
DejaVu Sans, in which this was measured.
"""
LINE: Final = 20
"""Pixels from one line of a text to the next."""
_HEAD: Final = (
    '<marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="5" markerHeight="5"'
    ' orient="auto"><path class="head" d="M0 0L8 4L0 8Z"/></marker>'
)


class DrawingError(Exception):
    """The description cannot be drawn; the message says what is wrong where."""


class Area(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A rectangle with a title."""

    title: str
    x: int
    y: int
    width: int
    height: int
    lines: tuple[str, ...] = ()

    @property
    def right(self) -> int:
        return self.x + self.width

    @property
    def bottom(self) -> int:
        return self.y + self.height


class Arrow(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A straight line between two boxes."""

    source: str
    target: str
    label: str
    at: int | None = None
    """The x of a vertical line, or the y of a horizontal one."""


class ArchitectureDrawing(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The parts of the picture. Sizes are pixels."""

    width: int
    height: int
    groups: tuple[Area, ...]
    boxes: dict[str, Area]
    arrows: tuple[Arrow, ...]


def drawing(text: str) -> ArchitectureDrawing:
    """Reads a description. Raises DrawingError."""
    try:
        read = msgspec.yaml.decode(text, type=ArchitectureDrawing)
    except msgspec.ValidationError as error:
        raise DrawingError(str(error)) from None
    for box in read.boxes.values():
        _check_texts(box)
    return read


def _check_texts(box: Area) -> None:
    """A text that is wider or higher than its box would be drawn over what is beside it."""
    texts = [(box.title, TITLE)]
    for line in box.lines:
        texts.append((line, TEXT))
    for text, (size, character) in texts:
        # 12 pixels of indentation before a text, and some room behind it.
        needed = round(len(text) * size * character) + 16
        if needed > box.width:
            raise DrawingError(f"{box.title}: {text!r} needs a width of {needed}, not {box.width}")
    needed = 28 + LINE * len(box.lines) + 4
    if needed > box.height:
        raise DrawingError(f"{box.title}: its lines need a height of {needed}, not {box.height}")


def svg(picture: ArchitectureDrawing, colours: Mapping[str, str]) -> str:
    """The picture. Raises DrawingError for an arrow that cannot be straight."""
    style = (
        "text{font:14px system-ui,sans-serif;fill:" + colours["text"] + "}"
        ".title{font-size:16px;font-weight:650;fill:" + colours["title"] + "}"
        ".group{fill:" + colours["group"] + "}"
        ".box{fill:" + colours["box"] + ";stroke:" + colours["line"] + "}"
        ".arrow{stroke:" + colours["arrow"] + ";stroke-width:2}"
        ".head{fill:" + colours["arrow"] + "}"
    )
    size = f'width="{picture.width}" height="{picture.height}"'
    root = f'xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="Architecture"'
    parts = [
        f'<svg {root} viewBox="0 0 {picture.width} {picture.height}">',
        f"<style>{style}</style>",
        _HEAD,
        f'<rect {size} fill="{colours["page"]}"/>',
    ]
    for group in picture.groups:
        parts += _area(group, "group", indent=20)
    for box in picture.boxes.values():
        parts += _area(box, "box", indent=12)
    for arrow in picture.arrows:
        parts += _arrow(arrow, picture.boxes)
    return "\n".join([*parts, "</svg>", ""])


def _area(area: Area, kind: str, *, indent: int) -> Iterator[str]:
    size = f'width="{area.width}" height="{area.height}" rx="8"'
    yield f'<rect class="{kind}" x="{area.x}" y="{area.y}" {size}/>'
    x = area.x + indent
    yield f'<text class="title" x="{x}" y="{area.y + 26}">{escape(area.title)}</text>'
    for number, line in enumerate(area.lines, start=1):
        yield f'<text x="{x}" y="{area.y + 26 + LINE * number}">{escape(line)}</text>'


def _arrow(arrow: Arrow, boxes: Mapping[str, Area]) -> Iterator[str]:
    for name in (arrow.source, arrow.target):
        if name not in boxes:
            raise DrawingError(f"the arrow {arrow.label!r} names {name!r}, which is not a box")
    source = boxes[arrow.source]
    target = boxes[arrow.target]
    shared = (max(source.x, target.x), min(source.right, target.right))
    is_vertical = shared[0] < shared[1]
    if not is_vertical:
        shared = (max(source.y, target.y), min(source.bottom, target.bottom))
    # In the middle of the side that both boxes share, unless the description says where.
    across = (shared[0] + shared[1]) // 2
    if arrow.at is not None:
        across = arrow.at
    if not shared[0] < across < shared[1]:
        raise DrawingError(f"the arrow {arrow.label!r} cannot be straight: its boxes share no side")
    if is_vertical:
        begin, end = _gap(source.y, source.bottom, target.y, target.bottom)
        yield _line(across, begin, across, end)
        yield f'<text x="{across + 8}" y="{(begin + end) // 2 + 5}">{escape(arrow.label)}</text>'
        return
    begin, end = _gap(source.x, source.right, target.x, target.right)
    yield _line(begin, across, end, across)
    middle = (begin + end) // 2
    yield f'<text x="{middle}" y="{across - 7}" text-anchor="middle">{escape(arrow.label)}</text>'


def _gap(low: int, high: int, other_low: int, other_high: int) -> tuple[int, int]:
    """The place where a line leaves one box and meets the other; each has a low and a high side."""
    # Between the sides that face each other: the arrow may point either way.
    if high <= other_low:
        return high, other_low
    return low, other_high


def _line(x: int, y: int, to_x: int, to_y: int) -> str:
    return f'<path class="arrow" d="M{x} {y}L{to_x} {to_y}" marker-end="url(#head)"/>'


def pictures() -> Mapping[str, str]:
    """The content of each file. Raises DrawingError."""
    described = drawing(SOURCE.read_text("utf-8"))
    return {name: svg(described, colours) for name, colours in THEMES.items()}


def main() -> None:
    """Writes the files."""
    parser = argparse.ArgumentParser(prog="python -m tools.architecture", description=__doc__)
    parser.add_argument("--out", type=Path, default=IMAGES)
    out: Path = parser.parse_args().out
    for name, text in pictures().items():
        (out / name).write_text(text, "utf-8")
        print(out / name)


if __name__ == "__main__":
    main()
