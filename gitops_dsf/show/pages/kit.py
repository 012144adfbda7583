"""Renders HTML pages that load nothing.

A page is opened from a folder, as an artifact of a pipeline, or from a mail. It shows text that
clusters and scoring APIs wrote, so three things must hold whatever that text is:

- Every value is escaped by the templating library, and control characters are made visible. Only
  values of type `Markup` are HTML.
- The Content-Security-Policy of the page forbids every request, and allows one style sheet and one
  script, which it names by their hashes. A script that got into the page would not run.
- The page works without its script. The script adds search, sorting and the whole heat map.

Not guaranteed: that a page is small. `heatmap` and the templates bound what they show.
"""

import hashlib
from base64 import b64encode
from functools import lru_cache
from typing import Final, NamedTuple

import jinja2
from markupsafe import Markup

from dsf_wire.text import printable
from gitops_dsf import __version__
from gitops_dsf.wording import plural

_STYLE: Final = "style.css"
_SCRIPT: Final = "page.js"


class Fact(NamedTuple):
    """A short fact: a value, and what it is."""

    value: str
    what: str


def render(template: str, **values: object) -> str:
    """Renders a template of this package. Every value that is not a `Markup` is escaped."""
    style = _source(_STYLE)
    script = _source(_SCRIPT)
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}';"
        " base-uri 'none'; form-action 'none'"
    )
    return (
        _environment()
        .get_template(template)
        .render(
            # Both are files of this package, and no value is inserted into them.
            style=Markup(style),  # noqa: S704
            script=Markup(script),  # noqa: S704
            policy=Markup(policy),  # noqa: S704
            version=__version__,
            **values,
        )
    )


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("gitops_dsf.show.pages"),
        # Without `autoescape` Jinja escapes nothing.
        autoescape=True,
        # A misspelt name in a template would otherwise be an empty place on the page.
        undefined=jinja2.StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["plural"] = plural
    return environment


def _visible(value: object) -> object:
    """The text of a value on a page, without control characters; empty for None."""
    if value is None:
        return ""
    # HTML of our own has line breaks that must stay.
    return value if isinstance(value, Markup) else printable(value)


@lru_cache(maxsize=2)
def _source(name: str) -> str:
    loader = _environment().loader
    if loader is None:
        raise AssertionError("the environment has a loader")
    return loader.get_source(_environment(), name)[0]


def _hash(content: str) -> str:
    """The hash of an inline element, as a Content-Security-Policy names it."""
    return "sha256-" + b64encode(hashlib.sha256(content.encode()).digest()).decode()
