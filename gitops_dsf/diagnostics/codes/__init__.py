"""Every code of a finding, by its number.

Each module lists the codes of a hundred. They are Python and not YAML: mypy then knows their names
where findings are made, and no file is parsed when a program starts. To add a code, take the last
number of its group plus one, write the explanation, the bad and the good example, and run
`make schemas`, which writes docs/reference/diagnostics.md.
"""

from types import ModuleType
from typing import Final

from gitops_dsf.diagnostics.code import Code as Code
from gitops_dsf.diagnostics.codes import (
    application_sets,
    applications,
    clusters,
    output,
    score_tests,
    scorers,
    structure,
)

# Findings are made as `codes.SYNTAX.at(...)`, so every code is a name of this package, too.
from gitops_dsf.diagnostics.codes.application_sets import *  # noqa: F403
from gitops_dsf.diagnostics.codes.applications import *  # noqa: F403
from gitops_dsf.diagnostics.codes.clusters import *  # noqa: F403
from gitops_dsf.diagnostics.codes.output import *  # noqa: F403
from gitops_dsf.diagnostics.codes.score_tests import *  # noqa: F403
from gitops_dsf.diagnostics.codes.scorers import *  # noqa: F403
from gitops_dsf.diagnostics.codes.structure import *  # noqa: F403

RETIRED: Final = frozenset(
    {
        "DSF120", "DSF121", "DSF124", "DSF125", "DSF147", "DSF158", "DSF159", "DSF160",
        "DSF161", "DSF167", "DSF168", "DSF171", "DSF209", "DSF319", "DSF328", "DSF329",
        "DSF334", "DSF337", "DSF338", "DSF339", "DSF409",
    }
)  # fmt: skip
"""Codes that earlier versions reported. A code never gets a second meaning."""

_MODULES: Final = (
    structure,
    scorers,
    clusters,
    applications,
    application_sets,
    output,
    score_tests,
)


def _by_id(modules: tuple[ModuleType, ...]) -> dict[str, Code]:
    """The codes of modules. Raises ValueError for one that is retired or out of order."""
    codes: dict[str, Code] = {}
    last = ""
    for module in modules:
        for code in vars(module).values():
            if not isinstance(code, Code):
                continue
            if code.id in RETIRED or code.id <= last:
                raise ValueError(f"{code.id} is listed twice, retired or out of order")
            last = code.id
            codes[code.id] = code
    return codes


CODES: Final = _by_id(_MODULES)
"""All codes by id, in order."""

DESTINATIONS: Final = (scorers.TOKEN_OUTSIDE, scorers.METRICS_OUTSIDE)
"""Tokens or metrics go to a host that gitops-dsf.yaml does not allow.

`ci check` reports these as errors: the author of a pull request writes the host, and the code
owners of gitops-dsf.yaml allow it.
"""
