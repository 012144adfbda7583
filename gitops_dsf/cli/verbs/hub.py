"""The verbs for a hub, and the programs that run in clusters: what people type."""

from pathlib import Path
from typing import Final

from gitops_dsf.cli.arguments import Arguments, verb


@verb(
    "install",
    "install on a hub: from Argo CD to a running loop",
    description="""\
Installs gitops-dsf on a hub that has Open Cluster Management and Argo CD, from a fleet repository that is
rendered and pushed. Checks what it needs, applies the health checks for Argo CD and rendered/argocd, waits
until Argo CD has applied the tree from git and a reconciler leads, and ends with the findings of doctor.
Everything else is applied by Argo CD. Running it again changes only what differs.""",
    examples="""\
examples:
  gitops-dsf install --context hub                  from the repository in the current folder
  gitops-dsf install --context hub --dry-run        check everything; the hub validates the objects and stores none
  gitops-dsf install fleet --context hub --repo https://git.example.com/team/fleet.git
                                                    set spec.git.url first, and render again
  gitops-dsf install --context hub --no-wait        apply, and leave the rest to Argo CD

exit codes: 0 installed, 1 a check failed, the hub refused an object, the loop does not run in time or doctor
finds an error, 2 wrong usage, 3 a bug of gitops-dsf, 130 interrupted
""",
)
def install(add: Arguments) -> None:
    add.fleet()
    add.context()
    add(
        "--repo URL",
        "URL of the repository as Argo CD clones it: written to spec.git.url in gitops-dsf.yaml",
    )
    add.waiting(until="the loop runs", dry_run="check everything and change nothing")


@verb(
    "uninstall",
    "take back what is installed; applications stay",
    description="""\
Removes gitops-dsf from a hub: the Applications over the rendered tree, the reconciler, ApplicationSets and
Placements, the agents and what they run, scorers, rights, policies and the health checks in argocd-cm. It
finds them by their labels. It also removes what the reconciler wrote: its Lease and ConfigMaps, the scores
of paced moves, and the taint that a Maintenance puts on clusters. Applications that were placed stay where
they run, unless --delete-applications is given. Without --context it asks first. Ends with what stays, and
why. Running it again finishes what a first run could not.""",
    examples="""\
examples:
  gitops-dsf uninstall --context hub --dry-run      what would be deleted, and what stays
  gitops-dsf uninstall --context hub
  gitops-dsf uninstall --context hub --no-wait      also with managed clusters that never answer again
""",
)
def uninstall(add: Arguments) -> None:
    add.hub()
    add.waiting(
        until="the managed clusters have removed the agents",
        dry_run="delete nothing, and say what would be deleted",
    )
    add("--delete-applications", "also delete the placed applications, with their workloads")
    add("--yes", "do not ask whether the current context is meant")


@verb(
    "doctor",
    "find what is wrong, with the command that fixes it",
    description="""\
Checks everything on a hub that scoring needs: OCM and its feature gates, the agents, Argo CD and what it
says of the rendered tree, an upstream addon running beside us, scores, the reconciler, clocks. Each finding
comes with the command that fixes it. Reads the hub and writes nothing; of Secrets only the metadata. What
may not be read is "unknown", with the right that is missing.""",
    examples="""\
examples:
  gitops-dsf doctor --context hub                   every check; 1 when there is an error
  gitops-dsf doctor --context hub --strict          1 also when there is a warning
  gitops-dsf doctor --context hub -o json           for programs: {"hub", "findings": [{check, state, message, fix}], "summary"}""",  # noqa: E501
)
def doctor(add: Arguments) -> None:
    add.hub()
    add("--strict", "exit with 1 for warnings, too")
    add.output("text", "json")


@verb(
    "status",
    "show scores, decisions and applications",
    description="""\
Shows how scoring stands on a hub: for each scorer its health and on how many clusters its scores are fresh,
expired or missing, with age and value; for each Placement its decision and the nearest score that would flip
it; for each application where it should be and where it is; which paced moves are under way or wait, and
where applications go when a cluster fails. Reads the hub and writes nothing. What may not be read, or is not
installed, is named and left out.""",
    examples="""\
examples:
  gitops-dsf status --context hub                           everything, summed up where it is much
  gitops-dsf status --context hub --scorer cpu-headroom     one scorer on every cluster, and what ranks by it
  gitops-dsf status --context hub --cluster eu-west-1       one cluster: its scores, and what would bring it in or out
  gitops-dsf status --context hub -o json                   every score, for programs

It is a view: it ends with 0 whatever it shows, and with 1 when the hub, or a part of it, cannot be read.
`gitops-dsf doctor` judges.""",
)
def status(add: Arguments) -> None:
    add.hub()
    add("--scorer NAME", "only this scorer (its name or its score name), and what ranks by it")
    add("--placement [NS/]NAME", "only this Placement, its scorers and its applications")
    add("--cluster NAME", "only this cluster, and what would bring it in or out")
    add("--all", "show every score, Placement and application, however many there are")
    add.output("text", "json")


@verb(
    "log",
    "list past moves from the journal, and explain the last one",
    description="""\
Lists the changes of OCM's decisions that the reconciler wrote into the journal: when, from where to where,
and the cause: a score, the pace, a drain, a lost cluster, or an edit in git with its commit. For one
application it also explains the last one, or the last one up to --at: which scores had changed, and what each
score added to the points of the old and the new cluster, in the words of `gitops-dsf explain`. The branch
of the journal is fetched first, and the first line says how old it is.""",
    examples="""\
examples:
  gitops-dsf log                                   all moves of the last 14 days
  gitops-dsf log portal                            those of one application, and why it moved last
  gitops-dsf log portal --at 2026-06-01T03:15:00Z  why it was where it was at that time
  gitops-dsf log --from 2026-06-01T00:00:00Z -o json
""",
)
def log(add: Arguments) -> None:
    add(
        "application [APP]",
        "ScoredApplication, ApplicationSet, or Placement with or without its namespace; all by default",
    )
    add.fleet()
    add.journal(fetches=True)
    add.span()
    add("--at TIME", "explain the last move of APP up to then, and list nothing")
    add.output("text", "json")


@verb(
    "reconcile",
    "run the reconciler on the hub",
    description="""\
Runs beside Argo CD on the hub until it is stopped: probes every DynamicScorer, writes its status (health,
whether /config still says what was accepted, on how many clusters scores are fresh), and asks Argo CD to look
at a placement decision as soon as it changed; the old copy of an application that moved is deleted once the
new one is healthy (moves.strategy MakeBeforeBreak). Replicas take turns by a Lease. Of what Argo CD owns, one
annotation is written and such Applications are deleted, nothing else. What else it does (proposals, the
state branch, the journal) is in spec.reconciler of gitops-dsf.yaml.""",
    examples="""\
examples:
  gitops-dsf reconcile --config /etc/gitops-dsf/gitops-dsf.yaml
                                                inside the hub, with the pod's own account
  gitops-dsf reconcile --context hub            from outside, in the folder of the fleet

The log is JSON on standard error. /metrics, /healthz and /readyz are on --metrics-address.""",
)
def reconcile(add: Arguments) -> None:
    add(
        "--context NAME",
        "context of the kubeconfig; without it and --kubeconfig the pod's own account",
    )
    add("--kubeconfig FILE", "kubeconfig file")
    add(
        "--config FILE",
        "the FleetRepository, read once (gitops-dsf.yaml)",
        default=Path("gitops-dsf.yaml"),
    )
    add(
        "--metrics-address HOST:PORT",
        "(127.0.0.1:8080); port 0 takes a free one",
        default="127.0.0.1:8080",
    )
    add(
        "--placement-namespace NAME ...",
        "another namespace than Argo CD's whose decisions are in the snapshot; may be repeated",
    )
    add(
        "--git-credentials DIR",
        "mounted Secret: token, or username and password, or ssh-privatekey and known_hosts",
    )
    add(
        "--credentials DIR",
        "mounted Secrets that scoring.auth of scorers names, each value in the file <secret>/<key>",
    )
    add("--work-dir DIR", "where the shallow clone is kept (a temporary folder)")


@verb("scorer", "run, check or start a scoring API")
def scorer(add: Arguments) -> None:
    from dsf_scorer import command

    command.add_arguments(add.parser)


VERBS: Final = (install, uninstall, doctor, status, log)
PROGRAMS: Final = (reconcile, scorer)
