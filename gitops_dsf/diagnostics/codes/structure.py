"""Codes DSF0xx: YAML and the structure of the repository."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import Code

SYNTAX = Code(
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

TAB = Code(
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

DUPLICATE_KEY = Code(
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

AMBIGUOUS = Code(
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

ENCODING = Code(
    "DSF005",
    Severity.ERROR,
    "not UTF-8",
    explanation="""
        The file has bytes that are not UTF-8, which is the only encoding that Kubernetes reads.
        `iconv -f latin1 -t utf-8` converts a file that an older editor saved.
        """,
    unshown="an example is written as UTF-8 text",
)

DEPTH = Code(
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

ALIASES = Code(
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

SIZE = Code(
    "DSF008",
    Severity.ERROR,
    "file or repository too large",
    explanation="""
        A file may have 8 MiB and 10,000 documents, a document 1.5 MB, and the repository 128
        MiB. The limits keep `validate` and the reconciler fast, and no object that etcd accepts
        is larger. Split the file, or move what is not YAML of the fleet out of the repository.
        """,
    unshown="the smallest example has 8 MiB",
)

SYMLINK = Code(
    "DSF009",
    Severity.ERROR,
    "symbolic link that leaves the repository or leads nowhere",
    explanation="""
        The symbolic link leaves the repository or leads nowhere. Argo CD refuses such a
        repository, and nobody reviews changes of the link's target. Commit the file itself.
        """,
    unshown="an example is text, and text cannot hold a symbolic link",
)

EMPTY = Code(
    "DSF010",
    Severity.ERROR,
    "nothing to read",
    explanation="""
        There is neither a gitops-dsf.yaml nor a YAML file in the folders of DSF017, so this is
        not a fleet repository. Give the right folder with `--directory`, or begin a repository
        with `gitops-dsf init`.
        """,
    unshown="an example is written over a repository that has files",
)

NOT_AN_OBJECT = Code(
    "DSF011",
    Severity.ERROR,
    "document that is not an object",
    explanation="""
        A YAML document must be an object with apiVersion and kind. This one is a list, a text
        or a number, and nothing reads it.
        """,
    bad="""
        # clusters/second.yaml
        - prod-2
        """,
    good="""
        # clusters/second.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata: {name: prod-2}
        """,
)

UNKNOWN_KIND = Code(
    "DSF012",
    Severity.ERROR,
    "unknown kind or apiVersion",
    explanation="""
        The kind, or the apiVersion of the kind, is not one that a fleet repository has; DSF017
        lists them. The document would not be rendered, and what it says would not happen. An
        object of another program is a warning: move it to a repository of its own, or to a
        folder that is not read. `validate --fix` rewrites upstream's version v1.
        """,
    bad="""
        # clusters/second.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluser
        metadata: {name: prod-2}
        """,
    good="""
        # clusters/second.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata: {name: prod-2}
        """,
)

UNKNOWN_FIELD = Code(
    "DSF013",
    Severity.ERROR,
    "unknown field",
    explanation="""
        The kind has no field of this name, so the field would have no effect. Most often the
        name is misspelt, or stands one level too high or too low. In the inventory it is a
        warning, because a newer OCM may have the field.
        """,
    bad="""
        # apps/web.yaml
        spec:
          placement:
            numberofClusters: 1
        """,
    good="""
        # apps/web.yaml
        spec:
          placement:
            numberOfClusters: 1
        """,
)

MISSING_FIELD = Code(
    "DSF014",
    Severity.ERROR,
    "missing field",
    explanation="""
        A field that the object needs is missing. The hint says what it is for, and which values
        it takes.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          source:
            auth: {tokenSecretRef: {name: prometheus-token}}
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          source:
            auth: {tokenSecretRef: {name: prometheus-token, key: token}}
        """,
)

WRONG_TYPE = Code(
    "DSF015",
    Severity.ERROR,
    "wrong type",
    explanation="""
        The value has another type than the field: a text where a number belongs, or a list
        where an object does. The API server would refuse the rendered object. `validate --fix`
        adds or removes quotes where only those are wrong.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoring:
            params:
              interval: 1m
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoring:
            params:
              interval: 60
        """,
)

BAD_VALUE = Code(
    "DSF016",
    Severity.ERROR,
    "value that is not allowed",
    explanation="""
        The value has the right type, and the field does not allow it: the number is too large
        or too small, the name has characters that Kubernetes refuses, or the word is not one of
        the listed ones. The hint says what is allowed.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoring:
            params:
              interval: 999999999
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoring:
            params:
              interval: 60
        """,
)

WRONG_FOLDER = Code(
    "DSF017",
    Severity.ERROR,
    "kind in the wrong folder",
    explanation="""
        Each folder has its kinds, so that CODEOWNERS can decide by folder who reviews a change:
        `scorers/` has DynamicScorer; `config/` DynamicScoringConfig, MetricSource and
        Maintenance; `clusters/` ManagedCluster and ManagedClusterSet; `apps/`
        ScoredApplication, ScoredPlacement, Placement, ManagedClusterSetBinding and
        ApplicationSet; `locks/` ScorerLock; `tests/` ScoreTest. gitops-dsf.yaml has the
        FleetRepository.
        """,
    bad="""
        # apps/cluster.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata: {name: prod-2}
        """,
    good="""
        # clusters/cluster.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata: {name: prod-2}
        """,
)

DUPLICATE_OBJECT = Code(
    "DSF018",
    Severity.ERROR,
    "object defined twice",
    explanation="""
        Two documents declare the object of one kind, namespace and name. Argo CD would apply
        both in turn, and the hub would have whichever came last. A ScoredApplication also
        renders a Placement and an ApplicationSet of its name, so a copied one must have another
        name.
        """,
    bad="""
        # clusters/second.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata: {name: prod-1}
        """,
    good="""
        # clusters/second.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata: {name: prod-2}
        """,
)

UNSUPPORTED_YAML = Code(
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

DIALECT = Code(
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

UNREAD_FOLDER = Code(
    "DSF021",
    Severity.WARNING,
    "folder or file that is not read",
    explanation="""
        The folder or file looks like one that is read, such as `scorer/` or
        `clusters/edge.yml.bak`, and it is not. What it declares would not exist on the hub.
        Rename it; `docs`, `examples`, `scripts` and `hack` are ignored on purpose.
        """,
    bad="""
        # scorer/gpu.yaml
        apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
        """,
    good="""
        # docs/gpu.yaml
        apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
        """,
)

UPSTREAM_ONLY = Code(
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

SETTINGS = Code(
    "DSF023",
    Severity.ERROR,
    "gitops-dsf.yaml missing or without its FleetRepository",
    explanation="""
        Every fleet repository has a gitops-dsf.yaml with one FleetRepository. Nothing can be
        rendered without it: the git URL that Argo CD clones has no default. `gitops-dsf init
        DIR` shows what the file looks like.
        """,
    bad="""
        # gitops-dsf.yaml
        # No settings yet.
        """,
    good="""
        # gitops-dsf.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: FleetRepository
        metadata:
          name: fleet
        spec:
          git:
            url: https://git.example.com/team/fleet.git
          agent:
            image: registry.example.com/gitops-dsf-agent:0.1.0
          reconciler:
            image: registry.example.com/gitops-dsf-reconciler:0.1.0
        """,
)

ARGOCD_CONTROL = Code(
    "DSF024",
    Severity.ERROR,
    "annotation or label that steers Argo CD",
    explanation="""
        Argo CD obeys `argocd.argoproj.io/*`, and of Helm's annotations `helm.sh/hook*` and
        `helm.sh/resource-policy`. With one of them it could treat the object as a hook and
        delete it when it is healthy, or never prune it. Remove it: gitops-dsf renders the waves
        and options that its objects need. Only `argocd.argoproj.io/sync-wave` is allowed, on
        Placements, ManagedClusterSetBindings and ApplicationSets.
        """,
    bad="""
        # scorers/cpu.yaml
        metadata:
          annotations:
            argocd.argoproj.io/hook: PostSync
        """,
    good="""
        # scorers/cpu.yaml
        metadata:
          annotations:
            example.com/owner: capacity-team
        """,
)

MORE_FINDINGS = Code(
    "DSF030",
    Severity.ERROR,
    "more findings than are listed",
    explanation="""
        `validate` lists 10,000 findings of a repository and 1,000 of a document. Usually one
        mistake, such as a wrong indentation, causes most of them. Correct those that are
        listed, and run it again.
        """,
    unshown="the smallest example has 1,001 mistakes",
)

LARGE_ANNOTATIONS = Code(
    "DSF031",
    Severity.ERROR,
    "annotations larger than Kubernetes accepts",
    explanation="""
        The API server refuses an object whose annotations have more than 262,144 bytes
        together, and Argo CD then stops the sync of everything beside it. 250,000 bytes are
        left for yours. Keep the text elsewhere, and write its address.
        """,
    unshown="the smallest example has 250,001 bytes",
)

MANY_LABELS = Code(
    "DSF032",
    Severity.ERROR,
    "more labels than an object of Kubernetes should have",
    explanation="""
        An object may have 1,000 labels. Kubernetes has no limit of its own, but every program
        that watches the object keeps its labels in memory. Write as annotations what no
        selector needs.
        """,
    unshown="the smallest example has 1,001 labels",
)

ABSENT = Code(
    "DSF035",
    Severity.ERROR,
    "file that git has and that is not here",
    explanation="""
        Git has the file, and the folder does not. That is not a removal: rendering without it
        would delete what it declares from the hub. The causes are a submodule that was not
        fetched, a sparse checkout, and a file that was deleted but not with `git rm`. To remove
        or rename a file, tell git so with `git rm FILE`, `git mv OLD NEW` or `git add --all`,
        and render then. To remove it from a submodule, commit that there and run `git add` on
        the submodule's folder.
        """,
    unshown="it depends on what git has committed",
)

GIT_UNASKED = Code(
    "DSF036",
    Severity.WARNING,
    "git repository that cannot be read",
    explanation="""
        The folder is in a git repository, and git cannot list its files. So it is unknown
        whether all of them are here, and a missing one would be deleted from the hub. It often
        happens in containers that run as another user, have no git, or have only a part of the
        repository. The message has what git said.
        """,
    unshown="it depends on git",
)

CHANGED_BY_GIT = Code(
    "DSF037",
    Severity.ERROR,
    "file with other content in git",
    explanation="""
        Git has other content for the file than the folder. Git LFS commits only a pointer, and
        filters, `working-tree-encoding` and `ident` rewrite files at checkout. Argo CD would
        clone something else than what was checked here. Commit the file as it is; only line
        breaks (`text`, `eol`) may differ.
        """,
    unshown="it depends on what git has committed",
)

TEMPLATE = Code(
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

ELSEWHERE = Code(
    "DSF039",
    Severity.WARNING,
    "spec.git.path that is not the folder of the fleet",
    explanation="""
        The clone has `spec.git.url` as a remote, and the fleet is in another folder of it than
        `spec.git.path` says. The rendered Applications and the proposals of the reconciler
        follow `spec.git.path`, so they would use another folder than this one, or none.
        """,
    unshown="it depends on the git repository around the folder",
)

LARGE_LIST = Code(
    "DSF040",
    Severity.ERROR,
    "more scorers than the list for the reconciler holds",
    explanation="""
        The reconciler takes the scorers from ConfigMaps, of which there are eight at most: its
        rights name each of them. The API server limits the size of each. About 2,000 scorers fit;
        long `scoring.arguments` and queries take more room.
        """,
    unshown="the smallest example has 512,000 bytes",
)
