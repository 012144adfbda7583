"""With delivery.mode UpstreamController, only fields that upstream's controllers know are allowed."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.glob import is_glob
from gitops_dsf.repository.load import Path
from gitops_dsf.resolve.context import Context

_SCORER_FIELDS: tuple[Path, ...] = (
    ("spec", "suspend"),
    ("spec", "clusterSelector"),
    ("spec", "scoreRange"),
    ("spec", "scoreAggregation"),
    ("spec", "scoreTTLSeconds"),
    ("spec", "publish"),
    ("spec", "defaultScore"),
    ("spec", "runsOn"),
    ("spec", "source", "clusterLabel"),
    ("spec", "scoring", "arguments"),
    ("spec", "source", "ref"),
    ("spec", "scoring", "clustersPerRequest"),
    ("spec", "source", "auth", "caConfigMapRef"),
    ("spec", "source", "auth", "serviceAccountToken"),
    ("spec", "scoring", "auth", "caConfigMapRef"),
    ("spec", "scoring", "auth", "serviceAccountToken"),
)


def upstream_understands_it(context: Context) -> Iterator[Diagnostic]:
    """Upstream's CRDs drop unknown fields, so ours would have no effect."""
    if not context.is_upstream:
        return
    hint = "remove it, or write delivery.mode: ManifestWork in gitops-dsf.yaml"
    for item in context.declared.scorers:
        for path in _SCORER_FIELDS:
            if item.document.has(path):
                message = f"{path[-1]} has no effect with delivery.mode UpstreamController"
                yield codes.UPSTREAM_ONLY.at(item.document.key_at(path), message, hint)
        if item.document.has(("spec", "scoring", "type")):
            message = "scoring.type has no effect with delivery.mode UpstreamController"
            if item.value.spec.scored_by_query:
                message = (
                    "upstream's agent needs a scoring API: of this scorer it would post the series to an"
                    " empty URL, and publish nothing"
                )
            yield codes.UPSTREAM_ONLY.at(item.document.key_at(("spec", "scoring", "type")), message, hint)
    for config in context.declared.scoring_configs:
        for index, mask in enumerate(config.value.spec.masks):
            where: Path = ("spec", "masks", index)
            if mask.cluster_selector is not None:
                yield codes.UPSTREAM_ONLY.at(
                    config.document.key_at((*where, "clusterSelector")),
                    "upstream's masks have no clusterSelector",
                    hint,
                )
            for name, value in (("clusterName", mask.cluster_name or ""), ("scoreName", mask.score_name)):
                if is_glob(value):
                    message = f"upstream compares names exactly; {value} would match nothing"
                    yield codes.UPSTREAM_ONLY.at(config.document.at((*where, name)), message, hint)
