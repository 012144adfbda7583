"""Codes about the names of scores and of their items."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

DUPLICATE_SCORE = FindingCode(
    "DSF101",
    Severity.ERROR,
    "score name used twice",
    explanation="""
        Two scorers publish a score with the same name. Both would write the same
        AddOnPlacementScore in the namespace of a cluster, so Placements would read sometimes one
        score and sometimes the other. Give each scorer a score name of its own.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          scoring:
            type: Query
            params:
              name: cpu_forecast
              interval: 60
        """,
    good="""
        # scorers/mean.yaml
        spec:
          scoring:
            type: Query
            params:
              name: cpu_mean
              interval: 60
        """,
)

SANITISED_CLASH = FindingCode(
    "DSF102",
    Severity.ERROR,
    "score names that become equal as object names",
    explanation="""
        An AddOnPlacementScore is named after its score in lower case, with `-` for every other
        character. These two score names become one object name, so the scorers would overwrite
        each other's scores. Choose names that differ in more than case and punctuation.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          scoring:
            type: Query
            params:
              name: CPU-forecast
              interval: 60
        """,
    good="""
        # scorers/mean.yaml
        spec:
          scoring:
            type: Query
            params:
              name: cpu_mean
              interval: 60
        """,
)

UNKNOWN_PLACEHOLDER = FindingCode(
    "DSF112",
    Severity.ERROR,
    "unknown placeholder in scoreDimensionFormat",
    explanation="""
        scoreDimensionFormat names the items of a score. A placeholder that does not exist stays
        in every item name as it is written, so no Placement finds the item it asks for. The
        placeholders are `${cluster}`, `${node}`, `${device}`, `${namespace}`, `${app}`,
        `${pod}`, `${container}`, `${meta}` and `${scoreName}`.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoreDimensionFormat: ${nodes}
        # apps/web.yaml
        spec:
          scores: [{scorer: cpu-forecast, dimension: n1}]
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoreDimensionFormat: ${node}
        # apps/web.yaml
        spec:
          scores: [{scorer: cpu-forecast, dimension: n1}]
        """,
)

UNFILLED_PLACEHOLDER = FindingCode(
    "DSF113",
    Severity.NOTICE,
    "placeholder that the query does not fill",
    explanation="""
        No series of the query keeps this label, so the placeholder is empty in the item names
        unless the scoring API sets the label in its response. Only the author of the API knows
        that, so this is a notice.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoreDimensionFormat: ${pod}
        # apps/web.yaml
        spec:
          scores: [{scorer: cpu-forecast, dimension: n1}]
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoreDimensionFormat: ${node}
        # apps/web.yaml
        spec:
          scores: [{scorer: cpu-forecast, dimension: n1}]
        """,
)

EMPTY_PLACEHOLDER = FindingCode(
    "DSF135",
    Severity.WARNING,
    "placeholder that is empty in every score",
    explanation="""
        No series of the query keeps this label, and without a scoring API nothing else could
        set it. So the placeholder is empty in every item name, and all series share one item.
        Keep the label in the query, or remove the placeholder.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          scoreDimensionFormat: ${pod}
        """,
    good="""
        # scorers/mean.yaml
        spec:
          scoreDimensionFormat: ${scoreName}
        """,
)

SERIES_SHARE_ITEM = FindingCode(
    "DSF136",
    Severity.WARNING,
    "several series for one score item",
    explanation="""
        Several series of the query can have the same item name, and an item has one score.
        `scoreAggregation: Last`, the default, takes the last series of the answer, and no
        metric source promises an order. Aggregate in the query, or write `scoreAggregation`.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          source:
            params:
              query: max by (node) (cluster:cpu_usage:ratio)
        """,
    good="""
        # scorers/mean.yaml
        spec:
          source:
            params:
              query: max by (node) (cluster:cpu_usage:ratio)
          scoreAggregation: Mean
        """,
)
