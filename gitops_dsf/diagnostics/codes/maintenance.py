"""Codes about Maintenance documents and their windows."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

WINDOW_NEVER_OPENS = FindingCode(
    "DSF351",
    Severity.ERROR,
    "maintenance window that never opens",
    explanation="""
        The window ends before it begins, or opens and closes at the same time, so the
        maintenance would never take place. With a weekly window, `to` before `from` is on the
        next day.
        """,
    bad="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [prod-1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-24T04:00:00+01:00"
        """,
    good="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [prod-1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-25T04:00:00+01:00"
        """,
)

WINDOW_CLOCKS = FindingCode(
    "DSF352",
    Severity.WARNING,
    "maintenance window during a clock change",
    explanation="""
        Once a year a local time does not exist, and once it exists twice
        ([Maintenance](docs/decisions/maintenance.md#windows)). The window begins or ends at such
        a time and would be shorter or longer on that day. Write another time, or `zone: UTC`.
        """,
    bad="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [prod-1]
          schedule: {days: [Sun], from: "02:30", to: "05:00", zone: Europe/Berlin}
        """,
    good="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [prod-1]
          schedule: {days: [Sun], from: "03:30", to: "05:00", zone: Europe/Berlin}
        """,
)

WINDOWS_OVERLAP = FindingCode(
    "DSF353",
    Severity.WARNING,
    "maintenance windows of one cluster that overlap",
    explanation="""
        Windows of two Maintenance documents are open for one cluster at the same time, and both
        hold. While Freeze is open, nothing leaves by Drain. Remove one, or let one end before
        the other begins.
        """,
    bad="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [edge-1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-25T04:00:00+01:00"
        # config/upgrade.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: upgrade}
        spec:
          action: Cordon
          clusters: [edge-1]
          start: "2026-11-25T02:00:00+01:00"
          end: "2026-11-25T06:00:00+01:00"
        """,
    good="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [edge-1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-25T04:00:00+01:00"
        # config/upgrade.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: upgrade}
        spec:
          action: Cordon
          clusters: [edge-1]
          start: "2026-11-25T04:00:00+01:00"
          end: "2026-11-25T06:00:00+01:00"
        """,
)

MAINTENANCE_STRANDS = FindingCode(
    "DSF354",
    Severity.WARNING,
    "maintenance that leaves too few eligible clusters",
    explanation="""
        While the window is open, fewer clusters are left for the application than it asks for.
        Windows that are open at once count together. What runs on a cordoned cluster stays; a
        drain moves what fits elsewhere. Close fewer clusters at a time, or make more of them
        eligible.
        """,
    bad="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [prod-1, edge-1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-25T04:00:00+01:00"
        """,
    good="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [edge-1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-25T04:00:00+01:00"
        """,
)

MAINTENANCE_NEEDS = FindingCode(
    "DSF355",
    Severity.ERROR,
    "maintenance without spec.pace",
    explanation="""
        Drain and Freeze are about [paced moves](docs/decisions/paced-moves.md), which need
        `spec.pace` and the reconciler. Without them nothing would move, and nothing would be
        held. Write `spec.pace`, or `action: Cordon`.
        """,
    bad="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Drain
          clusters: [edge-1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-25T04:00:00+01:00"
        """,
    good="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [edge-1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-25T04:00:00+01:00"
        """,
)

UNKNOWN_IN_MAINTENANCE = FindingCode(
    "DSF356",
    Severity.ERROR,
    "maintenance of something that does not exist",
    explanation="""
        The maintenance names a cluster or an application that is not in this repository. What
        is meant would not be protected while somebody works on it. Correct the name.
        """,
    bad="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [edge1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-25T04:00:00+01:00"
        """,
    good="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [edge-1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-25T04:00:00+01:00"
        """,
)

MANY_WINDOWS = FindingCode(
    "DSF357",
    Severity.ERROR,
    "more than 200 Maintenance documents",
    explanation="""
        A repository may have 200 Maintenance documents, because each pair of windows is
        compared. Remove those that are past, or let one document name several clusters.
        """,
    unshown="the smallest example has 201 documents",
)
