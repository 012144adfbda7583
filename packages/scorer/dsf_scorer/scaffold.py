"""``scorer new``: creates a project for a scoring API, with a test, an image, its deployment and a
DynamicScorer.
"""

import re
from collections.abc import Iterator, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import Final

from dsf_scorer import __version__
from dsf_scorer.errors import UsageError

_NAME: Final = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
"""The name of a Service (RFC 1035)."""
_SUFFIX: Final = ".tmpl"
"""With this suffix, tools do not treat the templates as Python."""


def create(name: str, directory: Path) -> list[Path]:
    """Writes a project for a scorer of that name, and returns its files. Raises UsageError before anything
    is written.

    The name becomes that of the score, the DynamicScorer and the Service.
    """
    if not _NAME.fullmatch(name):
        msg = (
            f"{name!r} cannot be a scorer's name; write lower-case letters, digits and dashes, at most 63, a"
            " letter first, such as cpu-headroom"
        )
        raise UsageError(msg)
    if directory.exists() and not directory.is_dir():
        msg = f"{directory} is a file; name a folder"
        raise UsageError(msg)
    if directory.is_dir() and any(directory.iterdir()):
        msg = f"{directory} is not empty; name a new folder with --dir"
        raise UsageError(msg)
    values = {"name": name, "version": __version__}
    return list(_write(resources.files("dsf_scorer").joinpath("template"), directory, values))


def _write(templates: Traversable, directory: Path, values: Mapping[str, str]) -> Iterator[Path]:
    """Fills in a folder of templates, and the folders in it."""
    directory.mkdir(parents=True, exist_ok=True)
    for entry in sorted(templates.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _write(entry, directory / entry.name, values)
        elif entry.name.endswith(_SUFFIX):
            path = directory / entry.name.removesuffix(_SUFFIX)
            path.write_text(Template(entry.read_text(encoding="utf-8")).substitute(values), encoding="utf-8")
            yield path
