"""Checks the owner of the CRD of DynamicScorer, and whether delivery.crds agrees.

Red Hat's operator carries upstream's CRDs and writes them again at each reconcile. Where Argo CD
applies ours, too, both overwrite each other, and the API server drops our fields in between.
"""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.hub.delivery import OUR_CRDS
from gitops_dsf.hub.scorerdefinition import SCORER_CRD, has_our_fields, writers_of
from gitops_dsf.views.doctor.facts import DoctorFacts, FactSource
from gitops_dsf.views.doctor.finding import DoctorFinding, error, ok, warning
from gitops_dsf.views.doctor.objects import HubObject
from gitops_dsf.wording import names_text

_CHANGE: Final = "in gitops-dsf.yaml, render and merge"


def crds(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Does delivery.crds say who owns the CRDs of this hub?"""
    definition = facts.one(FactSource.SCORER_DEFINITION)
    if facts.is_upstreams:
        yield _of_upstream(definition)
        return
    renders = facts.inputs.crds == OUR_CRDS
    if definition is None:
        if renders:
            yield error(f"the hub has no CRD {SCORER_CRD}", facts.install)
        else:
            yield error(
                f"the hub has no CRD {SCORER_CRD}, and delivery.crds is Existing: no program"
                " installs it any more",
                f"write delivery.crds: Rendered {_CHANGE}",
            )
        return
    if has_our_fields(definition):
        if renders:
            yield ok("the CRDs are those that gitops-dsf renders")
        else:
            yield warning(
                "delivery.crds is Existing, and the CRD of DynamicScorer has all our fields:"
                " objects on the hub have fewer than they could",
                f"write delivery.crds: Rendered {_CHANGE}, unless another program owns the CRDs",
            )
        return
    # The managed fields of the CRD name its writers, unless they were removed.
    owners = names_text(writers_of(definition)) or "another program"
    if renders:
        yield error(
            f"{owners} wrote the CRD of DynamicScorer without our fields: Argo CD and that program"
            " overwrite each other, and what the CRD lacks is dropped",
            f"write delivery.crds: Existing {_CHANGE}",
        )
    else:
        yield ok(f"{owners} owns the CRDs, as delivery.crds: Existing says")


def _of_upstream(definition: HubObject | None) -> DoctorFinding:
    """Checks the CRD with UpstreamController: none are rendered, and any existing one serves."""
    if definition is None:
        return error(
            f"the hub has no CRD {SCORER_CRD}, and with delivery.mode UpstreamController none is"
            " rendered",
            "install the upstream add-on, which brings it",
        )
    return ok("the CRDs are there; with delivery.mode UpstreamController none are rendered")
