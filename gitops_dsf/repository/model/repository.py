"""The settings of a repository, gitops-dsf.yaml: rendering and delivery.

A value is checked here only on its own or against its neighbours; rules about other objects are in
`resolve.rules`. The docstrings are the descriptions in the schemas.
"""

from collections.abc import Iterator
from typing import Annotated, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from gitops_dsf.forge.address import address_of
from gitops_dsf.hub.delivery import OUR_CRDS, addon_of, delivers_upstream
from gitops_dsf.hub.names import ARGOCD_NAMESPACE, HUB_NAMESPACE, IN_CLUSTER
from gitops_dsf.hub.namespaces import Platform
from gitops_dsf.repository.model.agent import Agent, HubScorer
from gitops_dsf.repository.model.base import (
    BRANCH,
    HOST_GLOB,
    PRODUCT_API,
    Authored,
    DnsLabel,
    DnsName,
    FieldError,
    Metadata,
)
from gitops_dsf.repository.model.external_scores import ExternalScore
from gitops_dsf.repository.model.reconciler import Pace, Reconciler
from gitops_dsf.urls.git import GIT_URLS, PUSHABLE, browsed_branch, git_fault

DECISION_READERS: Final = ("argocd-applicationset-controller", "argocd-server")
"""The ServiceAccounts as Argo CD's own manifests name them."""
MAX_SHARDS: Final = 100
"""works-NN has two digits."""


def placeholder_url(name: str) -> str:
    """The git URL of a fleet of this name that `init` writes when it is given none."""
    return f"https://git.example.com/platform/{name}.git"


class Git(Authored):
    """The repository as Argo CD reads it."""

    url: Annotated[str, Field(min_length=1)]
    """URL that Argo CD clones."""
    target_revision: str = "main"
    """Branch that Argo CD follows with output.mode Directory."""
    path: str = ""
    """Folder of this fleet inside the repository; empty for its root."""

    @field_validator("url")
    @classmethod
    def _can_be_cloned(cls, url: str) -> str:
        if fault := git_fault(url):
            raise ValueError(f"{url}: {fault.message}; {fault.hint}")
        page = browsed_branch(url)
        if page is not None:
            raise ValueError(
                f"{url} is a page to look at: write {page.clone_url}, and targetRevision:"
                f" {page.branch}"
            )
        return url


class ArgoCd(Authored):
    """Where Argo CD runs on the hub."""

    namespace: DnsLabel = ARGOCD_NAMESPACE
    """Namespace of Argo CD; Placements and ApplicationSets are rendered into it."""
    project: DnsLabel = "gitops-dsf"
    """AppProject of the Applications that apply the rendered tree."""
    destination_server: str = IN_CLUSTER
    """API server of the hub as Argo CD knows it."""
    # The roles of both in Argo CD 3.6.1 cannot list PlacementDecisions.
    decision_readers: Annotated[list[DnsName], Field(min_length=1)] = list(DECISION_READERS)
    """ServiceAccounts of Argo CD that get the right to list PlacementDecisions: that of the
    ApplicationSet controller, and for previews in the user interface that of the server. Helm and
    OpenShift GitOps use other names.
    """

    @property
    def works_project(self) -> str:
        """AppProject of the Applications that apply the works."""
        return f"{self.project}-works"

    @property
    def platform_projects(self) -> tuple[str, str]:
        """The AppProjects that are rendered: for the works, and for everything else.

        An Application in one of them acts with the rights of the platform.
        """
        return self.project, self.works_project


class Delivery(Authored):
    """What delivers the scoring configuration to the spokes."""

    mode: Literal["ManifestWork", "UpstreamController"] = "ManifestWork"
    """ManifestWork: rendered ManifestWorks do. UpstreamController: the upstream controller does,
    from the rendered custom resources, and its agents publish the scores.
    """
    # Red Hat's operator writes upstream's CRDs again at each reconcile (multiclusterhub-operator,
    # pkg/templates/crds/dynamic-scoring-framework), and they lack our fields.
    crds: Literal["Rendered", "Existing"] = "Rendered"
    """Who owns the CRDs of DynamicScorer and DynamicScoringConfig. Rendered: this repository.
    Existing: another program of the hub, such as Advanced Cluster Management, so they are not
    rendered, and DynamicScorers have only the fields that upstream's CRDs have. Always so with
    UpstreamController.
    """

    @property
    def is_ours(self) -> bool:
        """Whether rendered ManifestWorks and our agents deliver, and upstream's do not."""
        return not delivers_upstream(self.mode)

    @property
    def renders_crds(self) -> bool:
        """Whether the CRDs of the hub are ours."""
        return self.is_ours and self.crds == OUR_CRDS

    @property
    def addon(self) -> str:
        """The ManagedClusterAddOn of the agents that publish scores."""
        return addon_of(self.mode)


class Output(Authored):
    """Where the rendered tree is stored, and in how many directories."""

    mode: Literal["Directory", "Branch"] = "Directory"
    """Directory: in rendered/ next to the sources. Branch: CI renders to another branch after each
    merge.
    """
    branch: Annotated[str, Field(pattern=BRANCH)] = "gitops-dsf-rendered"
    """Branch that CI writes with mode Branch."""
    # One directory is one Application of Argo CD, whose manifests may have 10 MB together and must
    # be rendered within 60 s (Argo CD 3.6.1).
    shards: Annotated[int, Field(ge=1, le=MAX_SHARDS)] = 1
    """Number of works-NN directories; a cluster's directory depends on its name and this number
    only.
    """


class FleetRepositorySpec(Authored):
    """How this repository is rendered and delivered."""

    git: Git
    """The repository as Argo CD reads it."""
    hub_namespace: DnsLabel = HUB_NAMESPACE
    """Hub namespace of the DynamicScorers and of what the reconciler writes."""
    argocd: ArgoCd = ArgoCd()
    """Where Argo CD runs on the hub."""
    agent: Agent = Agent()
    """The spoke agent's Deployment."""
    hub_scorer: HubScorer = HubScorer()
    """The Deployment on the hub that runs scorers with runsOn: Hub."""
    reconciler: Reconciler = Reconciler()
    """The reconciler's Deployment on the hub."""
    pace: Pace | None = None
    """How fast applications may move by their scores; when absent, each follows its scores at once.
    """
    external_scores: list[ExternalScore] = []
    """Scores of other add-ons by which applications and Placements of this repository rank."""
    delivery: Delivery = Delivery()
    """What delivers the scoring configuration to the spokes."""
    output: Output = Output()
    """Where the rendered tree is stored, and in how many directories."""
    allowed_hosts: list[Annotated[str, Field(pattern=HOST_GLOB)]] = []
    """Hosts (shell-style globs) to which metrics may be sent although only a lock names them, or
    although they are outside the clusters.
    """
    allowed_token_hosts: list[Annotated[str, Field(pattern=HOST_GLOB)]] = []
    """Hosts (shell-style globs) outside the managed clusters to which scorers may send tokens.
    Services of the cluster need no entry.
    """
    # A tag can be moved by anyone who can push to the registry.
    require_image_digests: bool = False
    """Whether the images of agent and reconciler must be named by digest (`NAME@sha256:...`)."""
    allow_unmatched_selectors: bool = False
    """Whether a scorer or an application that no cluster of the inventory matches is a warning
    instead of an error, for fleets with clusters that join later.
    """

    @property
    def delivers_works(self) -> bool:
        """Whether ManifestWorks deliver the configuration; else the upstream controller does."""
        return self.delivery.is_ours

    @property
    def renders_crds(self) -> bool:
        """Whether the CRDs of the hub are ours."""
        return self.delivery.renders_crds

    @property
    def platform(self) -> Platform:
        """The namespaces of the hub that belong to others, or to the reconciler."""
        return Platform(argocd=self.argocd.namespace, hub=self.hub_namespace)

    @model_validator(mode="after")
    def _reconciler_can_start(self) -> Self:
        # pydantic takes one error of a validator, so the first mistake is reported.
        for mistake in self._branch_mistakes():
            raise mistake
        for mistake in self._push_mistakes():
            raise mistake
        return self

    def _branch_mistakes(self) -> Iterator[FieldError]:
        """Branches that two writers would use. The reconciler refuses them when it starts."""
        people = self.git.target_revision
        output = self.output
        state = self.reconciler.state
        journal = self.reconciler.journal
        # The pipeline writes the rendered tree there, in place of what the branch had.
        if output.mode == "Branch" and output.branch == people:
            yield FieldError(
                f"output.branch is git.targetRevision ({people}), which people write: name another"
                " branch",
                "output",
                "branch",
            )
        # The branch of snapshots is forced, to keep its history short.
        if state.enabled and state.branch == people:
            yield FieldError(
                f"reconciler.state.branch is git.targetRevision ({people}): its content would be"
                " replaced; name another",
                "reconciler",
                "state",
                "branch",
            )
        used_branches = {people, output.branch}
        if state.enabled:
            used_branches.add(state.branch)
        # The reconciler only appends to the journal, so no other program may write to its branch.
        if journal.enabled and journal.branch in used_branches:
            yield FieldError(
                f"reconciler.journal.branch is {journal.branch}, which has another use already:"
                " name another branch",
                "reconciler",
                "journal",
                "branch",
            )

    def _push_mistakes(self) -> Iterator[FieldError]:
        """Mistakes about branches and forges for pushes and pull requests of the reconciler."""
        reconciler = self.reconciler
        if reconciler.uses_git and self.git.target_revision == "HEAD":
            yield FieldError(
                "git.targetRevision is HEAD, and the reconciler must know which branch it may"
                " never force: write its name, such as main",
                "git",
                "targetRevision",
            )
        if (
            reconciler.state.enabled
            and reconciler.proposals.kinds
            and reconciler.state.branch == "gitops-dsf"
        ):
            # A ref is a file in git, so refs/heads/gitops-dsf cannot be a branch and a folder.
            yield FieldError(
                "reconciler.state.branch is gitops-dsf and proposals are branches below it, which"
                " git cannot have at once: name another one, such as gitops-dsf-state",
                "reconciler",
                "state",
                "branch",
            )
        if reconciler.uses_git and not PUSHABLE.fullmatch(self.git.url):
            yield FieldError(
                f"the reconciler cannot push to git.url {self.git.url}: write {GIT_URLS}",
                "git",
                "url",
            )
        forge = reconciler.proposals.forge
        if reconciler.proposals.kinds and forge != "None":
            try:
                address_of(self.git.url, kind=forge, api=reconciler.proposals.forge_url or "")
            except ValueError as error:
                yield FieldError(
                    f"reconciler.proposals.forge is {forge}, but {error}, or leave forge out",
                    "reconciler",
                    "proposals",
                    "forge",
                )


NO_SETTINGS: Final = FleetRepositorySpec(git=Git(url="https://example.com/fleet.git"))
"""The defaults, for what must go on although the settings are missing or cannot be read."""


class FleetRepository(Authored):
    """The settings of a fleet repository, in gitops-dsf.yaml at its root."""

    api_version: Literal["gitops-dsf.io/v1alpha1"] = PRODUCT_API
    kind: Literal["FleetRepository"] = "FleetRepository"
    metadata: Metadata
    spec: FleetRepositorySpec
