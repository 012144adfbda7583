"""Every code of a finding, by its number.

Each module has the codes about one subject, in the order of their numbers:

    files and objects       files, yaml_syntax, objects, namespaces, settings, upstream
    scorers                 scorers, locks, queries, metric_sources, http_requests, credentials,
                            score_names, published_scores, hub_scorers, clusters
    applications            applications, application_sources, application_sets, templates
    choice of clusters      placements, eligible_clusters, rankings, external_scores, stickiness
    moves and jobs          paced_moves, maintenance, multikueue
    output and tests        output, score_tests

To add a code, write it in the module of its subject, in the order of numbers. The first digit of
its number is that of its section in docs/reference/diagnostics.md, such as 3 for applications and
Placements. The number is one more than the highest of that section, those in RETIRED included.
Write the explanation, the bad and the good example, and run `make schemas`, which adds the code to
that page.

Codes are Python and not YAML: mypy then knows their names where findings are made, and no file is
parsed when a program starts.
"""

# Findings are made as `codes.SYNTAX.at(...)`, so every code is a name of this package.
# ruff: noqa: F403
from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from gitops_dsf.diagnostics.code import FindingCode as FindingCode
from gitops_dsf.diagnostics.codes import credentials, http_requests
from gitops_dsf.diagnostics.codes.application_sets import *
from gitops_dsf.diagnostics.codes.application_sources import *
from gitops_dsf.diagnostics.codes.applications import *
from gitops_dsf.diagnostics.codes.clusters import *
from gitops_dsf.diagnostics.codes.credentials import *
from gitops_dsf.diagnostics.codes.eligible_clusters import *
from gitops_dsf.diagnostics.codes.external_scores import *
from gitops_dsf.diagnostics.codes.files import *
from gitops_dsf.diagnostics.codes.http_requests import *
from gitops_dsf.diagnostics.codes.hub_scorers import *
from gitops_dsf.diagnostics.codes.locks import *
from gitops_dsf.diagnostics.codes.maintenance import *
from gitops_dsf.diagnostics.codes.metric_sources import *
from gitops_dsf.diagnostics.codes.multikueue import *
from gitops_dsf.diagnostics.codes.namespaces import *
from gitops_dsf.diagnostics.codes.objects import *
from gitops_dsf.diagnostics.codes.output import *
from gitops_dsf.diagnostics.codes.paced_moves import *
from gitops_dsf.diagnostics.codes.placements import *
from gitops_dsf.diagnostics.codes.published_scores import *
from gitops_dsf.diagnostics.codes.queries import *
from gitops_dsf.diagnostics.codes.rankings import *
from gitops_dsf.diagnostics.codes.score_names import *
from gitops_dsf.diagnostics.codes.score_tests import *
from gitops_dsf.diagnostics.codes.scorers import *
from gitops_dsf.diagnostics.codes.settings import *
from gitops_dsf.diagnostics.codes.stickiness import *
from gitops_dsf.diagnostics.codes.templates import *
from gitops_dsf.diagnostics.codes.upstream import *
from gitops_dsf.diagnostics.codes.yaml_syntax import *

RETIRED: Final = frozenset(
    {
        "DSF120", "DSF121", "DSF124", "DSF125", "DSF147", "DSF158", "DSF159", "DSF160",
        "DSF161", "DSF167", "DSF168", "DSF171", "DSF209", "DSF319", "DSF328", "DSF329",
        "DSF334", "DSF337", "DSF338", "DSF339", "DSF409",
    }
)  # fmt: skip
"""Codes that earlier versions reported. A code never gets a second meaning."""


def _by_number(values: Iterable[object]) -> dict[str, FindingCode]:
    """The codes among values, by their ids, in order."""
    codes = [value for value in values if isinstance(value, FindingCode)]
    return {code.id: code for code in sorted(codes, key=attrgetter("id"))}


# All names of its modules are names of this package. A contract test finds a code that is lost.
CODES: Final = _by_number(tuple(globals().values()))
"""All codes by id, in order."""

DESTINATIONS: Final = (credentials.TOKEN_OUTSIDE, http_requests.METRICS_OUTSIDE)
"""Tokens or metrics go to a host that gitops-dsf.yaml does not allow.

`ci check` reports these as errors: the author of a pull request writes the host, and the code
owners of gitops-dsf.yaml allow it.
"""
