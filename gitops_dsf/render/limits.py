"""Limits of what OCM and Argo CD take, checked on the rendered tree before anything is written."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, Position, Severity
from gitops_dsf.plan.build import shard_of
from gitops_dsf.plan.types import Plan
from gitops_dsf.render.tree import RenderedTree
from gitops_dsf.render.works import payload_bytes

WORK_LIMIT_BYTES = 512_000
"""OCM's ManifestWork webhook, --manifestLimit (ocm.md section 3)."""

SHARD_LIMIT_CLUSTERS = 500
SHARD_LIMIT_BYTES = 8_000_000
"""Argo CD refuses more than 10 MB of manifests in one Application; 8 MB leaves room for growth (design section 4)."""

REPOSITORY_FILE = "gitops-dsf.yaml"


def check_limits(plan: Plan, tree: RenderedTree) -> Iterator[Diagnostic]:
    """Works that OCM's webhook would refuse, and shards that Argo CD could not render."""
    yield from _works(plan)
    yield from _shards(plan, tree)


def _works(plan: Plan) -> Iterator[Diagnostic]:
    clusters = defaultdict(list)
    for work in plan.works:
        clusters[id(work.configuration)].append(work)
    for works in clusters.values():
        size = payload_bytes(works[0].configuration)
        if size > WORK_LIMIT_BYTES:
            count = len(works[0].configuration.summaries)
            yield Diagnostic(
                code="DSF501",
                severity=Severity.ERROR,
                message=f"the ManifestWork of {works[0].cluster} and {len(works) - 1} more clusters would be {size} bytes "
                f"with {count} scorers; OCM refuses more than {WORK_LIMIT_BYTES}",
                hint="run fewer scorers there (clusterSelector, masks) or shorten scoring.arguments and queries",
                position=Position(file=REPOSITORY_FILE),
            )


def _shards(plan: Plan, tree: RenderedTree) -> Iterator[Diagnostic]:
    count = Counter(work.shard for work in plan.works)
    total: Counter[int] = Counter()
    for work in plan.works:
        total[work.shard] += tree.size(f"works-{work.shard:02d}/{work.cluster}.manifestwork.yaml")
    for shard in sorted(count):
        if count[shard] <= SHARD_LIMIT_CLUSTERS and total[shard] <= SHARD_LIMIT_BYTES:
            continue
        yield Diagnostic(
            code="DSF502",
            severity=Severity.ERROR,
            message=f"works-{shard:02d} would hold {count[shard]} clusters in {total[shard] / 1e6:.1f} MB; "
            f"one Argo CD Application takes {SHARD_LIMIT_CLUSTERS} clusters or {SHARD_LIMIT_BYTES / 1e6:g} MB",
            hint=f"set spec.output.shards to {_enough(plan, tree)} in {REPOSITORY_FILE}",
            position=Position(file=REPOSITORY_FILE),
        )


def _enough(plan: Plan, tree: RenderedTree) -> int:
    """The smallest number of shards that holds every work, with the same hash that will place them."""
    sizes = {work.cluster: tree.size(f"works-{work.shard:02d}/{work.cluster}.manifestwork.yaml") for work in plan.works}
    shards = plan.repository.spec.output.shards + 1
    while shards < 10_000:
        count: Counter[int] = Counter()
        total: Counter[int] = Counter()
        for cluster, size in sizes.items():
            shard = shard_of(cluster, shards)
            count[shard] += 1
            total[shard] += size
        if max(count.values()) <= SHARD_LIMIT_CLUSTERS and max(total.values()) <= SHARD_LIMIT_BYTES:
            break
        shards += 1
    return shards
