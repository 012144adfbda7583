"""Codes about the YAML of a file: what cannot be parsed, and what is not read."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

SYNTAX = FindingCode(
    "DSF001",
    Severity.ERROR,
    "not valid YAML",
    explanation="""
        The YAML parser cannot read the file, so nothing in it is checked or rendered. The
        message names the place where reading stopped; the mistake is there or shortly before.
        The most frequent causes are a second `: ` in an unquoted value, an indentation that
        fits nothing above, and a quote or bracket that is never closed.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          description: Forecast: CPU use
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          description: "Forecast: CPU use"
        """,
)

TAB = FindingCode(
    "DSF002",
    Severity.ERROR,
    "tab where YAML wants spaces",
    explanation="""
        YAML does not allow tabs for indentation. Editors show a tab like spaces, so the line
        looks right. Replace it with spaces.
        """,
    bad="""
        # config/masks.yaml
        apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
        kind: DynamicScoringConfig
        metadata:
          name: dynamic-scoring-config
        spec:
        \tmasks: []
        """,
    good="""
        # config/masks.yaml
        apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
        kind: DynamicScoringConfig
        metadata:
          name: dynamic-scoring-config
        spec:
          masks: []
        """,
)

DUPLICATE_KEY = FindingCode(
    "DSF003",
    Severity.ERROR,
    "field written twice",
    explanation="""
        One mapping has the same field twice. Some parsers take the first value and others the
        last one, so `kubectl`, Argo CD and gitops-dsf could read different objects from one
        file. Keep one of the two.
        """,
    bad="""
        # clusters/edge.yaml
        metadata:
          name: edge-1
          labels: {env: prod, env: edge}
        """,
    good="""
        # clusters/edge.yaml
        metadata:
          name: edge-1
          labels: {env: edge}
        """,
)

AMBIGUOUS = FindingCode(
    "DSF004",
    Severity.ERROR,
    "unquoted value that readers disagree about",
    explanation="""
        YAML 1.1, which `kubectl` and Argo CD read, and YAML 1.2, which most editors read,
        disagree about this unquoted value. `on` and `yes` are true in one and text in the
        other, and `017` is 15 or 17. Quote the value if it is text; otherwise write it in a
        form that both read alike.
        """,
    bad="""
        # clusters/prod.yaml
        metadata:
          labels:
            rack: 017
        """,
    good="""
        # clusters/prod.yaml
        metadata:
          labels:
            rack: "017"
        """,
)

ENCODING = FindingCode(
    "DSF005",
    Severity.ERROR,
    "not UTF-8",
    explanation="""
        The file has bytes that are not UTF-8, which is the only encoding that Kubernetes reads.
        `iconv -f latin1 -t utf-8` converts a file that an older editor saved.
        """,
    unshown="an example is written as UTF-8 text",
)

DEPTH = FindingCode(
    "DSF006",
    Severity.ERROR,
    "nested too deeply",
    explanation="""
        Values may be nested 64 levels deep. No field of a fleet repository needs nearly as
        many, and deeper nesting could exhaust the stack of a program that reads the file.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoring:
            arguments:
              matrix: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[
                [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]
                ]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoring:
            arguments:
              matrix: [[1, 0], [0, 1]]
        """,
)

ALIASES = FindingCode(
    "DSF007",
    Severity.ERROR,
    "alias",
    explanation="""
        The file uses a YAML alias (`*name`). A few lines of aliases can expand to millions of
        values, so aliases are not read. Write the value out at each place.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoring:
            arguments: {horizon: &hour 3600, window: *hour}
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoring:
            arguments: {horizon: 3600, window: 3600}
        """,
)

UNSUPPORTED_YAML = FindingCode(
    "DSF019",
    Severity.ERROR,
    "YAML feature that is not read",
    explanation="""
        Directives (`%YAML`), tags (`!!binary`), merge keys (`<<`) and mappings as field names
        are not read: programs differ in what they make of them. Write the plain values.
        """,
    bad="""
        # clusters/edge.yaml
        metadata:
          name: edge-1
          labels: {<<: {env: edge}}
        """,
    good="""
        # clusters/edge.yaml
        metadata:
          name: edge-1
          labels: {env: edge}
        """,
)

TEMPLATE = FindingCode(
    "DSF038",
    Severity.ERROR,
    "template that is not rendered",
    explanation="""
        The line belongs to a Go template, such as one of a Helm chart. Files of a fleet
        repository are read as they are; nothing renders templates first. Commit the output of
        `helm template`, or let the application's `source` name the chart.
        """,
    bad="""
        # apps/web.yaml
        metadata:
          name: {{ .Values.name }}
        """,
    good="""
        # apps/web.yaml
        metadata:
          name: web
        """,
)
