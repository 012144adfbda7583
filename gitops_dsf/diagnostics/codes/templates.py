"""Codes about Go templates in applications and ApplicationSets."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

GO_TEMPLATE = FindingCode(
    "DSF342",
    Severity.ERROR,
    "template that Argo CD cannot run",
    explanation="""
        Argo CD cannot parse or run the template. It then generates no Application for the whole
        ApplicationSet, and does not update those that exist.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: overlays/{{.name
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: overlays/{{.name}}
        """,
)

TEMPLATE_PARAMETER = FindingCode(
    "DSF343",
    Severity.ERROR,
    "parameter that the generator does not provide",
    explanation="""
        The generator provides no such parameter. Argo CD generates no Application, or leaves the
        braces as they are. A decision provides `.name`, `.clusterName`, `.server` and `.reason`,
        the inventory `.labels` and `.claims`.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: overlays/{{.cluster.name}}
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: overlays/{{.clusterName}}
        """,
)

TEMPLATE_COST = FindingCode(
    "DSF344",
    Severity.ERROR,
    "template that is expensive for Argo CD",
    explanation="""
        The template could need a lot of memory or time. All teams share the ApplicationSet
        controller, [so everybody's deployments would
        wait](docs/reference/generator.md#templates-in-an-application). Simplify it. It is a warning
        where the cost depends on parameters.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: '{{ repeat 400000000 "x" }}'
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: '{{ lower .name }}'
        """,
)

TEMPLATE_LANGUAGE = FindingCode(
    "DSF345",
    Severity.ERROR,
    "Go template without goTemplate",
    explanation="""
        The ApplicationSet has Go templates and does not set `goTemplate`. Argo CD then leaves
        the braces as they are. Write `spec.goTemplate: true`.
        """,
    bad="""
        # apps/set.yaml
        spec:
          goTemplate: false
        """,
    good="""
        # apps/set.yaml
        spec:
          goTemplate: true
        """,
)

CLUSTER_LACKS = FindingCode(
    "DSF358",
    Severity.ERROR,
    "label or claim that a cluster lacks",
    explanation="""
        A [template](docs/reference/generator.md#templates-in-an-application) reads a label or claim
        that a cluster does not have, and the application may run there. The text would be empty,
        such as a path without its last folder. Add the label, or write a default into the template.
        A label that no cluster has is a warning where another text stands in for it.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: overlays/{{ .labels.region }}
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: overlays/{{ .labels.env }}
        """,
)

UNSTABLE_TEMPLATE = FindingCode(
    "DSF367",
    Severity.WARNING,
    "template with a different result each time",
    explanation="""
        Argo CD fills in the template again whenever it looks at the decision. This function returns
        a different text each time, so the Application would be updated, and synced, again and
        again. Write a fixed text.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: deploy/{{ randAlpha 5 }}
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: deploy/blue
        """,
)

TEXTS_AS_A_WHOLE = FindingCode(
    "DSF368",
    Severity.ERROR,
    "labels or claims used as a whole",
    explanation="""
        Only the labels and claims that templates read by name [are
        rendered](docs/reference/generator.md#templates-in-an-application), because all of them
        would be too many. Using the map as a whole would give few of them, or none. Read each label
        by its name.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
              helm: {values: "env: {{ get .labels `env` }}"}
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
              helm: {values: "env: {{ .labels.env }}"}
        """,
)

SCORE_IN_TEMPLATE = FindingCode(
    "DSF408",
    Severity.ERROR,
    "score in an Application's template",
    explanation="""
        OCM writes no score into a decision, so Argo CD would generate nothing. Even with a
        score, each change of it would update the Application. Leave the score out of the
        template.
        """,
    bad="""
        # apps/set.yaml
        spec:
          template:
            metadata:
              annotations: {score: "{{.score}}"}
        """,
    good="""
        # apps/set.yaml
        spec:
          template:
            metadata:
              annotations: {cluster: "{{.clusterName}}"}
        """,
)
