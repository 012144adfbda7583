"""``scorer new``: creates a project for a scoring API, with a test, an image and a DynamicScorer."""

import re
from importlib import resources
from pathlib import Path
from string import Template
from typing import Final

from dsf_scorer import __version__
from dsf_scorer.errors import ScorerError

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_SUFFIX: Final = ".tmpl"
"""With this suffix, tools do not treat the templates as Python."""


class ScaffoldError(ScorerError):
    """The project cannot be created. Nothing was written."""


def create(name: str, directory: Path) -> list[Path]:
    """Writes a project for a scorer of that name, and returns its files. Raises ScaffoldError before anything
    is written.

    The name becomes the score name and the DynamicScorer's name, so it must be a DNS label (RFC 1123).
    """
    if not _NAME.fullmatch(name):
        msg = (
            f"{name!r} cannot be a scorer's name; write lower-case letters, digits and dashes, at most 63,"
            " such as cpu-headroom"
        )
        raise ScaffoldError(msg)
    if directory.exists() and not directory.is_dir():
        msg = f"{directory} is a file; name a folder"
        raise ScaffoldError(msg)
    if directory.is_dir() and any(directory.iterdir()):
        msg = f"{directory} is not empty; name a new folder with --dir"
        raise ScaffoldError(msg)
    values = {"name": name, "version": __version__}
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for template in sorted(
        resources.files("dsf_scorer").joinpath("template").iterdir(), key=lambda entry: entry.name
    ):
        if template.name.endswith(_SUFFIX):
            path = directory / template.name.removesuffix(_SUFFIX)
            path.write_text(
                Template(template.read_text(encoding="utf-8")).substitute(values), encoding="utf-8"
            )
            written.append(path)
    return written
