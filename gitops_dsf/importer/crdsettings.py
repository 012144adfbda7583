"""Writes into gitops-dsf.yaml that another program owns the CRDs of a hub.

What people wrote in spec.delivery.crds stays. Nothing is changed back to Rendered either: a CRD
that has all our fields may still be another program's, and `doctor` asks for a decision then.
"""

from collections.abc import Mapping
from typing import Any

from gitops_dsf.hub.scorerdefinition import SCORER_CRD, has_our_fields, writers_of
from gitops_dsf.importer.settings import AdaptedSettings, SettingsFile
from gitops_dsf.wording import names_text


def adapt_crds(file: SettingsFile, definition: Mapping[str, Any]) -> AdaptedSettings:
    """Writes who owns the CRDs into the settings, for a hub with this CRD of DynamicScorer."""
    if has_our_fields(definition):
        return AdaptedSettings()
    delivery = file.section("delivery")
    # With UpstreamController no CRDs are rendered, whatever crds says.
    if delivery is None or delivery.get("mode") == "UpstreamController":
        return AdaptedSettings()
    owners = names_text(writers_of(definition)) or "another program"
    crds = delivery.get("crds")
    if crds == "Existing":
        return AdaptedSettings()
    if crds is not None:
        line = (
            f"gitops-dsf.yaml: spec.delivery.crds: {crds} stays as you wrote it, but {owners}"
            f" wrote CRD {SCORER_CRD} without our fields, and would overwrite ours: write Existing,"
            " unless that program goes away"
        )
        return AdaptedSettings(notes=(line,))
    reason = (
        f"spec.delivery.crds: Existing, because {owners} wrote CRD {SCORER_CRD} without our fields"
    )
    file.replace_section("delivery", {**delivery, "crds": "Existing"})
    return AdaptedSettings(changed=(reason,))
