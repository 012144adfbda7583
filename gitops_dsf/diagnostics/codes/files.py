"""Codes about the files and folders of the repository, and about what git has of them."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

SIZE = FindingCode(
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

SYMLINK = FindingCode(
    "DSF009",
    Severity.ERROR,
    "symbolic link that leaves the repository or leads nowhere",
    explanation="""
        The symbolic link leaves the repository or leads nowhere. Argo CD refuses such a
        repository, and nobody reviews changes of the link's target. Commit the file itself.
        """,
    unshown="an example is text, and text cannot hold a symbolic link",
)

EMPTY = FindingCode(
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

WRONG_FOLDER = FindingCode(
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

UNREAD_FOLDER = FindingCode(
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

MORE_FINDINGS = FindingCode(
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

ABSENT = FindingCode(
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

GIT_UNASKED = FindingCode(
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

CHANGED_BY_GIT = FindingCode(
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

ELSEWHERE = FindingCode(
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
