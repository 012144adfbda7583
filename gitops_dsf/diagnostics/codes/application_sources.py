"""Codes about the sources of applications: URLs, paths and Helm value files."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

SOURCE_PATH = FindingCode(
    "DSF335",
    Severity.ERROR,
    "path outside the repository",
    explanation="""
        The path leads outside the repository, is absolute, or has backslashes. Argo CD refuses the
        Application. A path is relative to the root of the repository, with `/` between folders.
        This holds for sources of applications and ApplicationSets, and for `spec.git.path` of
        gitops-dsf.yaml.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: deploy\\eu
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: deploy/eu
        """,
)

REPOSITORY_URL = FindingCode(
    "DSF336",
    Severity.ERROR,
    "repoURL that Argo CD cannot fetch",
    explanation="""
        Argo CD cannot fetch a repository from this URL and reports the Application as invalid. Git
        URLs have `https`, `http`, `ssh`, `git` or `file`, or the form
        `git@host:owner/repository.git`; OCI URLs have `oci://`. The rule holds wherever a URL is
        named: in the sources of applications and ApplicationSets, in their generators' templates,
        in git generators, and in `drySource`. What an action of a template writes is not checked.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
              repoURL: htps://git.example.com/web.git
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
              repoURL: https://git.example.com/web.git
        """,
)

AMBIGUOUS_SOURCE = FindingCode(
    "DSF346",
    Severity.ERROR,
    "source with contradicting fields",
    explanation="""
        Fields of the source contradict each other. Argo CD refuses two sources with the same `ref`,
        and more than one of `helm`, `kustomize`, `directory` and `plugin`. It ignores `path` beside
        `chart`, and `source` beside `sources`, which is a warning.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
              repoURL: https://git.example.com/web.git
              path: deploy
              helm: {releaseName: web}
              kustomize: {namePrefix: web-}
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
              repoURL: https://git.example.com/web.git
              path: deploy
              helm: {releaseName: web}
        """,
)

UNKNOWN_REFERENCE = FindingCode(
    "DSF347",
    Severity.ERROR,
    "value file of an unknown source",
    explanation="""
        `$NAME/` at the start of a value file stands for the source whose `ref` is NAME. No
        source has this `ref`, so Helm would not find the file.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
            sources:
              - repoURL: https://charts.example.com
                chart: web
                targetRevision: 1.0.0
                helm: {valueFiles: [$values/web.yaml]}
              - {repoURL: https://git.example.com/web.git, ref: value}
            destinationNamespace: web
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
            sources:
              - repoURL: https://charts.example.com
                chart: web
                targetRevision: 1.0.0
                helm: {valueFiles: [$values/web.yaml]}
              - {repoURL: https://git.example.com/web.git, ref: values}
            destinationNamespace: web
        """,
)
