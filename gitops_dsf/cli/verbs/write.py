"""The verbs that write files: what people type."""

import argparse
from typing import Final

from gitops_dsf.cli.arguments import Arguments, verb
from gitops_dsf.cli.helptext import HelpFormatter


def _extras(text: str) -> tuple[str, ...]:
    from gitops_dsf.cli.scaffold import EXTRAS

    names = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in names if name not in EXTRAS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"{unknown[0]!r} is not known: write some of {', '.join(EXTRAS)}"
        )
    return names


def _code(text: str) -> str:
    from gitops_dsf.diagnostics.codes import CODES

    if text not in CODES:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no code of a finding: write one such as DSF129"
        )
    return text


@verb(
    "init",
    "create a fleet repository that is valid",
    module="gitops_dsf.cli.scaffold",
    description=(
        "Creates a fleet repository: settings, a scorer, an application and clusters as examples, a test, a"
        " pipeline and editor settings. In a folder of a git repository, the pipeline, owners and hooks go to"
        " its root, where they are read; no file is changed that exists."
    ),
    examples="""\
examples:
  gitops-dsf init fleet
  gitops-dsf init fleet --git-url https://git.example.com/team/fleet.git
  gitops-dsf init fleet --registry registry.example.com/platform
  gitops-dsf init fleet --forge gitlab --with codeowners,pre-commit
  gitops-dsf init fleet --wheels dist          pipelines install the wheels that `make wheel` made
  gitops-dsf init fleet --empty && cd fleet && gitops-dsf import --context hub    for a hub that has clusters
  gitops-dsf init . --name emea        into a fresh clone: .git, perhaps a README, licence, .gitignore
  gitops-dsf init platform/fleet       a folder of the git repository that you are in
""",
)
def init(add: Arguments) -> None:
    add("dir DIR", "new or empty folder, or a fresh clone")
    add("--name NAME", "name of the fleet: a-z, 0-9 and - (default: made of the folder's name)")
    add("--git-url URL", "repository URL as Argo CD will clone it, without credentials")
    add(
        "--registry NAME",
        "registry and folder that have our images, such as registry.example.com/platform",
    )
    add(
        "--wheels FOLDER",
        "our wheels of this version, such as dist/ after `make wheel`: copies them into wheels/, so that "
        "pipelines install them while no package index has them",
    )
    add("--hashes", "name every package in requirements.txt with its hashes; needs --wheels")
    add(
        "--forge",
        "whose pipeline to write; gitea is also Forgejo (default: the one that the host of --git-url "
        "names, else none)",
        choices=("github", "gitlab", "gitea"),
    )
    add(
        "--with WHAT",
        "more files, separated by commas: codeowners, pre-commit, examples (a scoring API with its lock, "
        "a policy, masks, a MetricSource, a Placement of your own)",
        type=_extras,
        dest="extras",
        default=(),
    )
    add("--empty", "without the example scorer, clusters and application; for a hub of your own")


@verb(
    "validate",
    "report every mistake of a fleet repository",
    description="""\
Reads gitops-dsf.yaml, scorers/, config/, clusters/, apps/, locks/ and tests/ of a fleet repository and
reports every mistake with its place, a stable code and what to write instead. Nothing is written without
--fix.""",
    examples="""\
examples:
  gitops-dsf validate                          the repository in this folder
  gitops-dsf validate fleet --strict           warnings fail, too
  gitops-dsf validate scorers/cpu.yaml         only findings about this file of the repository
  gitops-dsf validate - < scorer.yaml          documents on their own: YAML, kinds and fields
  gitops-dsf validate --fix scorers/*.yaml     first does what hints state exactly: older spellings, quotes
  gitops-dsf validate -o github                annotations in a GitHub workflow
  gitops-dsf validate -o sarif > dsf.sarif     for code scanning
  gitops-dsf validate -o json | jq '.[] | select(.code == "DSF109")'

Findings go to standard output, the summary to standard error. `gitops-dsf explain` explains a code.""",
)
def validate(add: Arguments) -> None:
    add(
        "paths [DIR|FILE ...]",
        "fleet repository (this folder by default), or files of one; - is standard input",
    )
    add.output("text", "json", "github", "sarif")
    add("--fix", "write what hints state exactly into the files, and report what is left")
    add("--strict", "exit with 1 for warnings, too")
    add("--error CODE ...", "take findings of this code for errors, such as DSF129", type=_code)


@verb(
    "test",
    "run the unit tests of scores and decisions in tests/",
    description="""\
Runs the ScoreTests in tests/: given results of scorers, published scores, clusters and decisions, it computes
what agents publish and what OCM decides, and compares that with what each test expects. A failing
expectation is shown with its place and an explanation. No cluster and no metric source is asked.""",
    examples="""\
examples:
  gitops-dsf test                                 all tests of the repository in this folder
  gitops-dsf test fleet --name 'portal-*'         tests by name; a shell pattern, can be repeated
  gitops-dsf test -o junit > tests.xml      for the test report of a pipeline

exit codes: 0 all tests pass; 1 a test fails, or the repository has errors; 2 no test has the name
""",
)
def test(add: Arguments) -> None:
    add.fleet()
    add("--name PATTERN ...", "only tests with such a name")
    add(
        "--promtool FILE",
        "evaluates queries over given metrics; the promtool on the PATH by default",
    )
    add.output("text", "json", "junit")


@verb(
    "render",
    "write the tree that Argo CD applies",
    description="""\
Checks a fleet repository and renders it: CRDs, scorers, the agent add-on, one ManifestWork per cluster,
Placements and ApplicationSets, one object per file. Only files that gitops-dsf wrote are ever changed or
deleted, and only when there is no error.""",
    examples="""\
examples:
  gitops-dsf render                             render the repository in the current folder into rendered/
  gitops-dsf render fleet --check               exit 1 and list the stale files, write nothing
  gitops-dsf render --out /tmp/tree             render somewhere else
  gitops-dsf render --stdout --part works-03    one directory's manifests on standard output
""",
)
def render(add: Arguments) -> None:
    add.fleet()
    add("--out DIR", "where the tree goes; DIR/rendered by default", type=str)
    mode = add.one_of()
    mode("--check", "write nothing; exit 1 and list the files that are stale or foreign")
    mode("--stdout", "manifests on standard output, everything else on standard error")
    add("--part NAME", "with --stdout: only this directory, such as platform, works-03 or delivery")
    add(
        "--allow-shrink",
        "let more than 20 %% of the ManifestWorks, or the last DynamicScorer, go in one render",
    )


@verb(
    "sync",
    "update locks/ from the /config pages of scoring APIs",
    description="""\
Asks the /config page of every DynamicScorer with configSyncMode Full, judges the answers by the rules of
`gitops-dsf validate` and writes locks/<scorer>.yaml where the meaning changed. What is not accepted is
reported with its reason; its lock stays.""",
    examples="""\
examples:
  gitops-dsf sync                               the repository in this folder
  gitops-dsf sync fleet --scorer cpu-forecast   one scorer only
  gitops-dsf sync --check                       write nothing; exit 1 when a lock differs from what its page says
  gitops-dsf sync --check -o json               field by field, for programs
  gitops-dsf sync --scorer cpu --connect-to 127.0.0.1:18080    a Service behind kubectl port-forward

Exit codes: 0 fine; 1 a page was not accepted, or with --check a lock differs; 2 wrong usage.""",
)
def sync(add: Arguments) -> None:
    add.fleet()
    add("--check", "write nothing; exit 1 when a lock differs")
    add("--scorer NAME ...", "only this scorer; may be repeated")
    add("--timeout SECONDS", "total time for each page (10)", default=10.0)
    add(
        "--connect-to HOST:PORT",
        "with one --scorer: send its request there, such as to a port of kubectl port-forward; the page is "
        "still that of its configURL",
        type=str,
        default="",
    )
    add(
        "--credentials DIR",
        "folder with the Secrets that scoring.auth names, each value in the file <secret>/<key>",
    )
    add.output("text", "json")


@verb(
    "import",
    "write what a hub knows into clusters/, scorers/, config/",
    module="gitops_dsf.cli.import_",
    description="""\
Writes what a hub knows into a fleet repository: ManagedClusters and ManagedClusterSets to clusters/,
DynamicScorers to scorers/, the DynamicScoringConfig to config/. What the hub's controller read from a
scorer's /config (status.lastSyncedConfig) becomes its lock in locks/, judged by the rules of `gitops-dsf
sync`. It never deletes anything, keeps the comments and the order of existing files, and changes nothing when
it runs again with the same input.

Clusters follow the hub. Scorers, locks and masks follow git: existing scorers and masks are only compared,
and existing locks are kept; --overwrite replaces them with the hub's. It skips objects that gitops-dsf
rendered. Scorers and masks may come from any release of the upstream addon: from its own repository
(open-cluster-management-io/dynamic-scoring-framework) or, before that, from addon-contrib.

Takes the labels without a domain, the cluster set, topology.kubernetes.io/*, and every label that a selector
of the repository names. Takes the claims platform, product, region, and every claim that a selector names.
Updates what a file already holds.""",
    examples="""\
examples:
  kubectl get managedclusters,managedclustersets -o yaml | gitops-dsf import --from -
  kubectl get managedclusters,dynamicscorers,dynamicscoringconfigs -A -o yaml > hub.yaml
  gitops-dsf import --from hub.yaml fleet --dry-run
  gitops-dsf import --context hub --label 'compliance.example.com/*' --claim 'kubeversion.*'
  gitops-dsf import                                the hub of the current context
  gitops-dsf import --context hub --resources      for applications that rank by allocatable resources""",
)
def import_(add: Arguments) -> None:
    add.fleet()
    source = add.one_of()
    source(
        "--from FILE",
        "what `kubectl get -o yaml` (or json) printed; - is standard input",
        type=str,
        dest="file",
    )
    source(
        "--context NAME",
        "read a hub through this context of the kubeconfig; the current one by default",
    )
    add("--kubeconfig FILE", "in place of $KUBECONFIG or ~/.kube/config")
    add("--label GLOB ...", "also take labels of this name; may be repeated")
    add("--claim GLOB ...", "also take claims of this name; may be repeated")
    add("--resources", "also take allocatable and capacity, which change with every node")
    add("--overwrite", "replace the scorers, locks and masks of git with the hub's")
    add("--dry-run", "print what would change and write nothing")


@verb(
    "schema",
    "write JSON Schemas and CRDs of what people write",
    description=(
        "Writes the schema of everything that people write, for editors; with --out those for the hub and"
        " scripts, too."
    ),
    examples="""\
writes with --out:
  json/         one JSON Schema per kind, for kubeconform -schema-location 'DIR/json/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json', and document.json for all
  crds/         CustomResourceDefinitions of DynamicScorer and DynamicScoringConfig, as `render` puts them into rendered/platform/
  output/       the JSON that each verb prints with -o json; keys are only ever added
  wire/         the summaries that agents read from the scoring ConfigMap

examples:
  gitops-dsf schema                  refresh .schemas/gitops-dsf.json, which the editor settings of a fleet repository name
  gitops-dsf schema --out /tmp/dsf   write all of them elsewhere
""",  # noqa: E501
)
def schema(add: Arguments) -> None:
    add("--out DIR", "folder to write all schemas to, made when missing")


_CHECK: Final = """\
Validates, runs the tests, checks that rendered/ is up to date (with output.mode Branch: that it renders)
and shows the preview. It fails when a token or metrics would go to a host that gitops-dsf.yaml does not
allow (allowedTokenHosts, allowedHosts), which validate warns of. In the pipeline of a pull request the
preview becomes one comment, if the token may write it: GITHUB_TOKEN (also on Gitea and Forgejo), on
GitLab GITOPS_DSF_COMMENT_TOKEN (a project access token, role Reporter, scope api; it cannot be protected,
because merge requests read it; a job token may not write notes). With GITOPS_DSF_PROMETHEUS (and, where
the store wants one, GITOPS_DSF_PROMETHEUS_TOKEN) the comment has a backtest; that needs "gitops-
dsf[backtest]". Whoever may open a pull request from a branch can print these tokens: give them no other
right."""

_PUBLISH: Final = """\
Renders a branch as it is in origin, and pushes what changed: rendered/ to the same branch, or with
output.mode Branch to spec.output.branch. It never forces a push, and never touches your files. On GitLab it
pushes with GITOPS_DSF_PUSH_TOKEN: a masked and protected variable, a project access token with the scope
write_repository that may push to the branch. On the other forges the job needs `contents: write`, and a
protected branch an exception for it."""


@verb(
    "ci",
    "check a pull request, or publish after a merge",
    description="""\
The two jobs of a pipeline. They read the standard variables of GitHub Actions, GitLab CI, and
Gitea and Forgejo Actions, say what they do, and run on your machine, too.""",
    examples="""\
examples:
  gitops-dsf ci check                           validate, test, render --check, and the preview
  gitops-dsf ci check --base origin/main        on your machine: compared with this revision
  gitops-dsf ci publish --branch main --dry-run    what the pipeline would push after a merge
""",
)
def ci(add: Arguments) -> None:
    jobs = add.parser.add_subparsers(title="jobs", metavar="JOB", dest="job", required=True)
    check = Arguments(
        jobs.add_parser(
            "check",
            help="the checks of a pull request",
            description=_CHECK,
            formatter_class=HelpFormatter,
        )
    )
    check.fleet()
    check("--strict", "fail for warnings of validate, too")
    check("--base REV", "what to compare with, if the forge does not say (the branch of Argo CD)")
    check("--junit FILE", "write the results of the tests, too")
    publish = Arguments(
        jobs.add_parser(
            "publish",
            help="render and push after a merge",
            description=_PUBLISH,
            formatter_class=HelpFormatter,
        )
    )
    publish.fleet()
    publish("--branch NAME", "the branch, if the forge does not say which was pushed to")
    publish("--dry-run", "push nothing")


VERBS: Final = (init, validate, test, render, sync, import_, schema, ci)
