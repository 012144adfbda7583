"""Codes about the upstream project: its spelling of fields, and what its programs cannot do."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

DIALECT = FindingCode(
    "DSF020",
    Severity.ERROR,
    "spelling of another dialect",
    explanation="""
        Upstream's documents and its announcement spell this field in another way, such as
        `full` for `Full` or `scoringName` for `scoring.params.name`. `validate --fix` rewrites
        it. Where the scorer of the announcement lacks a field that is needed, `--fix` writes
        that, too: an interval of 60 seconds is reported as a notice, because only you know how
        often the score must be new.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          configSyncMode: full
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          configSyncMode: Full
        """,
)

UPSTREAM_ONLY = FindingCode(
    "DSF022",
    Severity.ERROR,
    "field that the upstream controller does not know",
    explanation="""
        With `delivery.mode: UpstreamController` the upstream controller reads the
        DynamicScorers, its CRDs drop fields that only gitops-dsf has, and its agents publish the
        scores. The field would have no effect. Remove it, or let gitops-dsf deliver with
        `delivery.mode: ManifestWork`.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          delivery: {mode: UpstreamController}
        # scorers/cpu.yaml
        spec:
          suspend: false
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          delivery: {mode: ManifestWork}
        # scorers/cpu.yaml
        spec:
          suspend: false
        """,
)

UPSTREAM_CANNOT_RUN = FindingCode(
    "DSF123",
    Severity.ERROR,
    "scorer that the upstream add-on cannot run",
    explanation="""
        The add-on of the upstream project cannot run this scorer. Its agent splits a query at
        every `;` (write `\\x3b` in a matcher) and runs only range queries of a Prometheus. Its
        controller silently skips a scorer with a range of 0, and ignores a scoring host of
        `/config`. Change the scorer, or write `delivery.mode: ManifestWork`.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          delivery: {mode: UpstreamController}
        # scorers/cpu.yaml
        spec:
          source:
            params:
              query: sum(up{job="a;b"})
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          delivery: {mode: ManifestWork}
        # scorers/cpu.yaml
        spec:
          source:
            params:
              query: sum(up{job="a;b"})
        """,
)
