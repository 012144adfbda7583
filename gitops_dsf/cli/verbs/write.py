"""The verbs that write files: their help and their arguments."""

import argparse
from pathlib import Path
from typing import Final

from gitops_dsf.cli.arguments import add_directory, add_kubeconfig, add_output
from gitops_dsf.cli.helptext import HelpFormatter
from gitops_dsf.cli.verb import verb


def _extras(text: str) -> tuple[str, ...]:
    # Imported where it is used: help and completion import this module, and must be fast.
    from gitops_dsf.cli.template import EXTRAS

    names = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in names if name not in EXTRAS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"{unknown[0]!r} is not known: write some of {', '.join(EXTRAS)}"
        )
    return names


def _code(text: str) -> str:
    from gitops_dsf.diagnostics.codes import CODES

    # A misspelt code would make a pipeline pass that should fail.
    if text not in CODES:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not the code of a finding: write one such as DSF129"
        )
    return text


@verb(
    "init",
    "create a fleet repository that is valid",
    description="""\
Creates a fleet repository: settings, an example scorer, an example application, example clusters,
a test, a pipeline and editor settings. In a folder of a git repository, it writes the pipeline,
owners and hooks to the root of that repository, because forges read them only there. It changes
no existing file.""",
    examples="""\
examples:
  gitops-dsf init fleet
  gitops-dsf init fleet --git-url https://git.example.com/team/fleet.git
  gitops-dsf init fleet --registry registry.example.com/platform
  gitops-dsf init fleet --forge gitlab --with codeowners,pre-commit
  gitops-dsf init fleet --wheels dist  pipelines install the wheels that `make wheel` made
  gitops-dsf init fleet --empty && cd fleet && gitops-dsf import --context hub
                                       for a hub that has clusters
  gitops-dsf init . --name emea        into a fresh clone, which may hold a README, a licence
                                       and a .gitignore
  gitops-dsf init platform/fleet       into a folder of the git repository that you are in
""",
)
def init(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR", type=Path, help="new or empty folder, or fresh clone")
    parser.add_argument(
        "--name", metavar="NAME", help="name of the fleet: a-z, 0-9 and - (the name of the folder)"
    )
    parser.add_argument(
        "--git-url",
        metavar="URL",
        help="URL of the repository as Argo CD will clone it, without credentials",
    )
    parser.add_argument(
        "--registry",
        metavar="NAME",
        help="registry and folder of our images, such as registry.example.com/platform",
    )
    parser.add_argument(
        "--wheels",
        metavar="FOLDER",
        type=Path,
        help="folder with our wheels of this version, such as dist/ after `make wheel`; they are"
        " copied into wheels/, where pipelines install them from until a package index has them",
    )
    parser.add_argument(
        "--hashes",
        action="store_true",
        help="name every package in requirements.txt with its hashes; needs --wheels",
    )
    parser.add_argument(
        "--forge",
        choices=("github", "gitlab", "gitea"),
        help="forge whose pipeline to write; gitea is also Forgejo (by default the forge that the"
        " host of --git-url names, else none)",
    )
    parser.add_argument(
        "--with",
        metavar="WHAT",
        type=_extras,
        dest="extras",
        default=(),
        help="more files, separated by commas: codeowners, pre-commit, examples (a scoring API"
        " with its lock, a policy, masks, a MetricSource, a Placement of your own)",
    )
    parser.add_argument(
        "--empty",
        action="store_true",
        help="leave out the example scorer, clusters and application; for a hub that has clusters",
    )
    parser.add_argument(
        "--context",
        metavar="HUB",
        help="context of the hub: the namespace and the ServiceAccounts of its Argo CD are looked"
        " up and written, because OpenShift GitOps has others (`import` does that, too)",
    )
    add_kubeconfig(parser, help_text="file to read instead of $KUBECONFIG or ~/.kube/config")


@verb(
    "validate",
    "report every mistake of a fleet repository",
    description="""\
Reads gitops-dsf.yaml, scorers/, config/, clusters/, apps/, locks/ and tests/ of a fleet
repository. Reports every mistake with its place, a stable code, and what to write instead. It
writes nothing without --fix.""",
    examples="""\
examples:
  gitops-dsf validate                       the repository in this folder
  gitops-dsf validate fleet --strict        warnings fail, too
  gitops-dsf validate scorers/cpu.yaml      only findings about this file of the repository
  gitops-dsf validate - < scorer.yaml       documents alone: YAML, kinds and fields
  gitops-dsf validate --fix scorers/*.yaml  first mends what needs no decision, such as older
                                            spellings and missing quotes
  gitops-dsf validate -o github             annotations in a GitHub workflow
  gitops-dsf validate -o sarif > dsf.sarif  for code scanning
  gitops-dsf validate -o json | jq '.[] | select(.code == "DSF109")'

Findings go to standard output, the summary goes to standard error. `gitops-dsf explain CODE`
explains a code.""",
)
def validate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        metavar="DIR|FILE",
        nargs="*",
        help="fleet repository (this folder by default), or files of one; - is standard input",
    )
    add_output(parser, "text", "json", "github", "sarif")
    parser.add_argument(
        "--fix",
        action="store_true",
        help="write the changes that findings state exactly into the files, and report the others",
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 for warnings, too")
    parser.add_argument(
        "--error",
        metavar="CODE",
        action="append",
        default=[],
        type=_code,
        help="treat findings of this code as errors, such as DSF129; may be repeated",
    )


@verb(
    "test",
    "run the unit tests of scores and decisions in tests/",
    description="""\
Runs the ScoreTests in tests/. From the results of scorers, published scores, clusters and
decisions that a test gives, it computes what agents would publish and what OCM would decide, and
compares that with what the test expects. A failing expectation is shown with its place and an
explanation. It asks no cluster and no metric source.""",
    examples="""\
examples:
  gitops-dsf test                          all tests of the repository in this folder
  gitops-dsf test fleet --name 'portal-*'  the tests whose names match a shell pattern
  gitops-dsf test -o junit > tests.xml     for the test report of a pipeline

exit codes: 0 all tests pass; 1 a test fails, or the repository has errors; 2 no test has the name
""",
)
def test(parser: argparse.ArgumentParser) -> None:
    add_directory(parser)
    parser.add_argument(
        "--name",
        metavar="PATTERN",
        action="append",
        default=[],
        help="only tests whose names match; may be repeated",
    )
    parser.add_argument(
        "--promtool",
        metavar="FILE",
        type=Path,
        help="program that evaluates queries over given metrics; the promtool on the PATH by"
        " default",
    )
    add_output(parser, "text", "json", "junit")


@verb(
    "render",
    "write the tree that Argo CD applies",
    description="""\
Checks a fleet repository and renders it: CRDs, scorers, the agent add-on, one ManifestWork for
each cluster, Placements and ApplicationSets, one object in each file. It changes and deletes only
files that gitops-dsf wrote, and only if there is no error.""",
    examples="""\
examples:
  gitops-dsf render                         the repository in this folder, into rendered/
  gitops-dsf render fleet --check           write nothing; list the stale files and exit with 1
  gitops-dsf render --out /tmp/tree         into another folder
  gitops-dsf render --stdout --part works-03
                                            the manifests of one directory, on standard output
""",
)
def render(parser: argparse.ArgumentParser) -> None:
    add_directory(parser)
    # A text and not a Path: Path("") is the current folder, and an empty --out is refused.
    parser.add_argument(
        "--out", metavar="DIR", help="folder to write the tree to; DIR/rendered by default"
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--check",
        action="store_true",
        help="write nothing; list the files that are stale or foreign, and exit with 1 if there"
        " are any",
    )
    mode.add_argument(
        "--stdout",
        action="store_true",
        help="write the manifests to standard output, and everything else to standard error",
    )
    parser.add_argument(
        "--part",
        metavar="NAME",
        help="with --stdout: only this directory, such as platform, works-03 or delivery",
    )
    parser.add_argument(
        "--allow-shrink",
        action="store_true",
        help="allow one render to remove more than 20 %% of the ManifestWorks, or the last"
        " DynamicScorer",
    )


@verb(
    "sync",
    "update locks/ from the /config pages of scoring APIs",
    description="""\
Reads the /config page of every DynamicScorer with configSyncMode Full and judges it by the rules
of `gitops-dsf validate`. Writes locks/<scorer>.yaml if the meaning of the page changed. If a page
is not accepted, it reports the reason, and the lock stays as it is.""",
    examples="""\
examples:
  gitops-dsf sync                              the repository in this folder
  gitops-dsf sync fleet --scorer cpu-forecast  one scorer only
  gitops-dsf sync --check                      write nothing; exit with 1 if a lock differs from
                                               its page
  gitops-dsf sync --check -o json              the differences, field by field, for programs
  gitops-dsf sync --scorer cpu --connect-to 127.0.0.1:18080
                                               a Service behind kubectl port-forward

exit codes: 0 fine; 1 a page was not accepted, or with --check a lock differs; 2 wrong usage""",
)
def sync(parser: argparse.ArgumentParser) -> None:
    add_directory(parser)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if a lock differs"
    )
    parser.add_argument(
        "--scorer",
        metavar="NAME",
        action="append",
        default=[],
        help="only this scorer; may be repeated",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=10.0,
        help="time limit for each page (10)",
    )
    parser.add_argument(
        "--connect-to",
        metavar="HOST:PORT",
        default="",
        help="with one --scorer: connect to this address, such as a port of kubectl port-forward;"
        " the request still names the host of the scorer's configURL",
    )
    parser.add_argument(
        "--credentials",
        metavar="DIR",
        type=Path,
        help="folder with the Secrets that scoring.auth names, each value in the file"
        " <secret>/<key>",
    )
    add_output(parser, "text", "json")


@verb(
    "import",
    "write what a hub knows into clusters/, scorers/, config/",
    module="gitops_dsf.cli.import_",
    description="""\
Writes what a hub knows into a fleet repository: ManagedClusters and ManagedClusterSets into
clusters/, DynamicScorers into scorers/, the DynamicScoringConfig into config/. What the hub's
controller read from a scorer's /config (status.lastSyncedConfig) becomes the scorer's lock in
locks/, if the rules of `gitops-dsf sync` accept it. It deletes nothing, keeps the comments and
the order of existing files, and changes nothing when it runs again with the same input.

Clusters follow the hub. Scorers, locks and masks follow git: existing scorers and masks are only
compared, and existing locks are kept. --overwrite replaces them by the hub's. Objects that
gitops-dsf rendered are skipped. Scorers and masks may come from any release of the upstream
add-on: from its own repository (open-cluster-management-io/dynamic-scoring-framework) or, before
that, from addon-contrib.

It takes these labels of clusters: those without a domain, the cluster set,
topology.kubernetes.io/*, and every label that a selector of the repository names. It takes the
claims platform, product and region, and every claim that a selector names. It also updates every
label and claim that a file already holds.

With --adopt, ApplicationSets that follow a decision become ScoredApplications in apps/, and the
Placements that they follow ScoredPlacements, where these say all that is there. Others are written
as they are, with the reason, or left alone. In each case the first sync changes no Application.
Scores of other add-ons by which these Placements rank are declared in spec.externalScores, if the
hub has them.""",
    examples="""\
examples:
  kubectl get managedclusters,managedclustersets -o yaml | gitops-dsf import --from -
  kubectl get managedclusters,dynamicscorers,dynamicscoringconfigs -A -o yaml > hub.yaml
  gitops-dsf import --from hub.yaml fleet --dry-run
  gitops-dsf import --context hub --label 'compliance.example.com/*' --claim 'kubeversion.*'
  gitops-dsf import              the hub of the current context
  gitops-dsf import --context hub --resources
                                 for applications that rank by allocatable resources
  gitops-dsf import --context hub --adopt 'shop-*' --dry-run
                                 say how these ApplicationSets would be adopted""",
)
def import_(parser: argparse.ArgumentParser) -> None:
    add_directory(parser)
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--from",
        metavar="FILE",
        dest="file",
        help="output of `kubectl get -o yaml` (or json); - is standard input",
    )
    source.add_argument(
        "--context",
        metavar="NAME",
        help="context of the kubeconfig through which to read the hub; the current one by default",
    )
    add_kubeconfig(parser, help_text="file to read instead of $KUBECONFIG or ~/.kube/config")
    parser.add_argument(
        "--label",
        metavar="GLOB",
        action="append",
        default=[],
        help="also take labels with such a name; may be repeated",
    )
    parser.add_argument(
        "--claim",
        metavar="GLOB",
        action="append",
        default=[],
        help="also take claims with such a name; may be repeated",
    )
    parser.add_argument(
        "--resources",
        action="store_true",
        help="also take allocatable and capacity, which change with every node",
    )
    parser.add_argument(
        "--adopt",
        metavar="GLOB",
        action="append",
        default=[],
        help="also adopt ApplicationSets with such a name, and the Placements that they follow;"
        " may be repeated",
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace the scorers, locks and masks in git by the hub's",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print what would change, and write nothing"
    )


@verb(
    "schema",
    "write JSON Schemas and CRDs of what people write",
    description="""\
Writes the JSON Schema of everything that people write, for editors. With --out it also writes the
schemas for the hub and for scripts.""",
    examples="""\
written with --out:
  json/    one JSON Schema for each kind, for kubeconform -schema-location
           'DIR/json/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json', and document.json for all
  crds/    CustomResourceDefinitions of DynamicScorer and DynamicScoringConfig, as `render` puts
           them into rendered/platform/
  output/  the JSON that each verb prints with -o json; keys are only ever added
  wire/    the summaries that agents read from the scoring ConfigMap

examples:
  gitops-dsf schema                 refresh .schemas/gitops-dsf.json, which the editor settings
                                    of a fleet repository name
  gitops-dsf schema --out /tmp/dsf  write all schemas into another folder
""",
)
def schema(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="folder to write all schemas to; created if it is missing",
    )


# Long texts stand here and not between the arguments of `ci`, which they would tear apart.
_CHECK: Final = """\
Validates, runs the tests, checks that rendered/ is up to date (with output.mode Branch: that the
repository renders), and shows the preview. It fails if a token or metrics would go to a host that
gitops-dsf.yaml does not allow (allowedTokenHosts, allowedHosts), which is a warning of validate.

In the pipeline of a pull request the preview becomes one comment, if the token may write
comments. On GitHub, Gitea and Forgejo that is GITHUB_TOKEN. On GitLab it is
GITOPS_DSF_COMMENT_TOKEN, a project access token with the role Reporter and the scope api, because
a job token may not write notes. It cannot be protected, because merge requests read it.

With GITOPS_DSF_PROMETHEUS (and GITOPS_DSF_PROMETHEUS_TOKEN, if the store wants a token) the
preview reads raw scores from the store, so that scores after a change are exact, and the comment
has a backtest; that needs "gitops-dsf[backtest]". GITOPS_DSF_CLUSTER_LABEL is the label by which
the store names clusters, if it is another one than that of dynamic_score. Whoever may open a
pull request from a branch can print these tokens: give them no other right."""

_PUBLISH: Final = """\
Renders a branch as it is in origin, and pushes what changed: rendered/ to the same branch, or
with output.mode Branch the tree to spec.output.branch. It never forces a push, and never changes
your files.

On GitLab it pushes with GITOPS_DSF_PUSH_TOKEN: a masked and protected variable with a project
access token that has the scope write_repository and may push to the branch. On the other forges
the job needs the permission `contents: write`, and a protected branch needs an exception for it."""


@verb(
    "ci",
    "check a pull request, or publish after a merge",
    description="""\
The two jobs of a pipeline. They read the standard variables of GitHub Actions, GitLab CI, and
Gitea and Forgejo Actions. They say what they do, and also run on your machine.""",
    examples="""\
examples:
  gitops-dsf ci check                            validate, test, render --check, and the preview
  gitops-dsf ci check --base origin/main         on your machine: compared with this revision
  gitops-dsf ci publish --branch main --dry-run  what the pipeline would push after a merge
""",
)
def ci(parser: argparse.ArgumentParser) -> None:
    jobs = parser.add_subparsers(title="jobs", metavar="JOB", dest="job", required=True)
    check = jobs.add_parser(
        "check",
        help="the checks of a pull request",
        description=_CHECK,
        formatter_class=HelpFormatter,
    )
    add_directory(check)
    check.add_argument("--strict", action="store_true", help="fail for warnings of validate, too")
    check.add_argument(
        "--base",
        metavar="REV",
        help="revision to compare with, if the forge names none (the branch that Argo CD follows)",
    )
    check.add_argument(
        "--page",
        metavar="FILE",
        type=Path,
        help="file to write the preview to, as an HTML page with every entry of every list; the"
        " comment links to the page of the run that keeps it",
    )
    check.add_argument(
        "--junit", metavar="FILE", type=Path, help="file to write the results of the tests to"
    )
    publish = jobs.add_parser(
        "publish",
        help="render and push after a merge",
        description=_PUBLISH,
        formatter_class=HelpFormatter,
    )
    add_directory(publish)
    publish.add_argument(
        "--branch", metavar="NAME", help="branch to render, if the forge names none"
    )
    publish.add_argument("--dry-run", action="store_true", help="push nothing")


VERBS: Final = (init, validate, test, render, sync, import_, schema, ci)
