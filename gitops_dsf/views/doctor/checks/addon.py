"""Checks the add-on that installs the agents: its definition, its template, the agents' permissions on the
hub, and the agents.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE, SCORE_GROUP, SCORE_PLURAL
from gitops_dsf.render.agent import HUB_ROLE
from gitops_dsf.schema import crds
from gitops_dsf.views.doctor.facts import (
    Facts,
    Object,
    Source,
    condition,
    name_of,
    namespace_of,
)
from gitops_dsf.views.doctor.finding import Result, error, ok, warning
from gitops_dsf.wording import names_text, plural

MANAGER: Final = "addon-manager-controller-sa"
MANAGER_NAMESPACE: Final = "open-cluster-management-hub"
LIFECYCLE: Final = "addon.open-cluster-management.io/lifecycle"
PLATFORM: Final = "sync the Argo CD Application gitops-dsf-platform, which applies rendered/platform"
NEEDED: Final = {(SCORE_PLURAL, verb) for verb in ("get", "list", "create", "patch", "delete")} | {
    (f"{SCORE_PLURAL}/status", "patch")
}
"""The (resource, verb) pairs that an agent uses in its cluster's namespace."""


def definition(facts: Facts) -> Iterator[Result]:
    """Is the ClusterManagementAddOn there, Manual, and does it name a template and settings that
    are there?
    """
    item = next((one for one in facts.of(Source.ADDON_DEFINITIONS) if name_of(one) == ADDON_NAME), None)
    if item is None:
        message = f"there is no ClusterManagementAddOn {ADDON_NAME}: no cluster gets an agent"
        yield error(message, _apply_platform(facts))
        return
    results = list(_definition(facts, item))
    yield from results or [ok(f"ClusterManagementAddOn {ADDON_NAME}: Manual, with template and settings")]


def _apply_platform(facts: Facts) -> str:
    """The commands that apply rendered/platform to a hub that may have nothing of ours yet. The namespace and
    the CRDs go first: the API server refuses objects in a namespace, or of a kind, that is not there.
    """
    folder = "rendered/platform"
    kinds = [name_of(item) for item in crds()]
    first = [
        f"{folder}/namespace.{facts.hub_namespace}.yaml",
        *(f"{folder}/customresourcedefinition.{kind}.yaml" for kind in kinds),
    ]

    def apply(*paths: str) -> str:
        files = [word for path in paths for word in ("-f", path)]
        return facts.command("apply", "--server-side", "--field-manager=argocd-controller", *files)

    wait = facts.command("wait", "--for=condition=Established", *(f"crd/{kind}" for kind in kinds))
    return f"{apply(*first)} && {wait} && {apply(folder)}"


def _definition(facts: Facts, item: Object) -> Iterator[Result]:
    spec = item.get("spec") or {}
    strategy = (spec.get("installStrategy") or {}).get("type", "Manual")
    if strategy != "Manual":
        patch = '{"spec":{"installStrategy":{"type":"Manual","placements":null}}}'
        yield error(
            f"installStrategy is {strategy}: OCM deletes and recreates the add-on of clusters that are"
            " between two pages of decisions",
            facts.command("patch", "clustermanagementaddon", ADDON_NAME, "--type=merge", "-p", patch),
        )
    lifecycle = (item["metadata"].get("annotations") or {}).get(LIFECYCLE, "addon-manager")
    if lifecycle != "addon-manager":
        yield error(
            f"annotation {LIFECYCLE} is {lifecycle!r}: OCM's add-on manager ignores the add-on",
            facts.command(
                "annotate", "--overwrite", "clustermanagementaddon", ADDON_NAME, f"{LIFECYCLE}=addon-manager"
            ),
        )
    named = {
        str(one.get("resource")): one.get("defaultConfig") or {} for one in spec.get("supportedConfigs") or ()
    }
    template = str(named.get("addontemplates", {}).get("name") or "")
    if template not in {name_of(one) for one in facts.of(Source.ADDON_TEMPLATES)}:
        yield error(
            f"its AddOnTemplate {template or '(none)'} is not there: no cluster gets an agent", PLATFORM
        )
    settings = next((one for one in facts.of(Source.ADDON_CONFIGS) if name_of(one) == ADDON_NAME), None)
    if settings is None:
        yield error(f"AddOnDeploymentConfig {facts.hub_namespace}/{ADDON_NAME} is not there", PLATFORM)
    elif (settings.get("spec") or {}).get("agentInstallNamespace") != AGENT_NAMESPACE:
        # The CRD's default would move the whole template to another namespace
        # (docs/contributing/ocm-behaviour.md#install-namespace-of-an-add-on).
        patch = f'{{"spec":{{"agentInstallNamespace":"{AGENT_NAMESPACE}"}}}}'
        fix = facts.command(
            "-n",
            facts.hub_namespace,
            "patch",
            "addondeploymentconfig",
            ADDON_NAME,
            "--type=merge",
            "-p",
            patch,
        )
        yield error(
            f"AddOnDeploymentConfig installs the agent in another namespace than {AGENT_NAMESPACE}", fix
        )


def grant(facts: Facts) -> Iterator[Result]:
    """Does the template ask OCM to hand out rights, and may OCM's add-on manager do that?"""
    asked = sorted(
        {role for item in facts.of(Source.ADDON_TEMPLATES) if _is_ours(item) for role in _roles(item)}
    )
    if not asked:
        yield ok("the template asks for no hub permissions, so the add-on manager needs no grant")
        return
    for role in asked:
        if not _granted(facts, role):
            account = f"--serviceaccount={MANAGER_NAMESPACE}:{MANAGER}"
            fix = facts.command(
                "create",
                "clusterrolebinding",
                f"gitops-dsf-grant-{role.replace(':', '-')}",
                f"--clusterrole={role}",
                account,
            )
            yield error(
                f"the template asks for ClusterRole {role}, which {MANAGER} may not grant:"
                " SetPermissionFailed",
                fix,
            )
        else:
            # buildSubjectsFromRegistration binds the group that the agents of all clusters share.
            yield warning(
                f"the template grants ClusterRole {role} by hubPermissions: every agent could then write"
                " the scores of every cluster",
                "render with this version, which binds each agent in its own cluster's namespace: gitops-dsf"
                " render",
            )


def _is_ours(template: Object) -> bool:
    return (template.get("spec") or {}).get("addonName") == ADDON_NAME


def _roles(template: Object) -> Iterator[str]:
    for registration in (template.get("spec") or {}).get("registration") or ():
        for permission in (registration.get("kubeClient") or {}).get("hubPermissions") or ():
            role = (permission.get("currentCluster") or {}).get("clusterRoleName")
            if role:
                yield str(role)


def _granted(facts: Facts, role: str) -> bool:
    subject = {"kind": "ServiceAccount", "name": MANAGER, "namespace": MANAGER_NAMESPACE}
    return any(
        (item.get("roleRef") or {}).get("name") in {role, "cluster-admin"}
        and any(_same(one, subject) for one in item.get("subjects") or ())
        for item in facts.of(Source.GRANTS)
    )


def rights(facts: Facts) -> Iterator[Result]:
    """May each agent write the scores of its own cluster?"""
    role = facts.one(Source.AGENT_ROLE)
    if role is None:
        yield error(f"ClusterRole {HUB_ROLE} is not there: no agent may write a score", PLATFORM)
        return
    allowed = {
        (resource, verb)
        for rule in role.get("rules") or ()
        if SCORE_GROUP in (rule.get("apiGroups") or ())
        for resource in rule.get("resources") or ()
        for verb in rule.get("verbs") or ()
    }
    lacking = sorted(f"{verb} {resource}" for resource, verb in NEEDED - allowed)
    if lacking:
        yield error(f"ClusterRole {HUB_ROLE} lacks {names_text(lacking)}", PLATFORM)
    bindings = {namespace_of(item): item for item in facts.of(Source.AGENT_BINDINGS)}
    wrong = sorted(cluster for cluster in facts.inputs.addons if not _binds(bindings.get(cluster), cluster))
    for cluster in wrong:
        there = cluster in bindings
        create = facts.command(
            *("-n", cluster, "create", "rolebinding", ADDON_NAME, f"--clusterrole={HUB_ROLE}"),
            f"--group=system:open-cluster-management:cluster:{cluster}:addon:{ADDON_NAME}",
            f"--serviceaccount={cluster}:{ADDON_NAME}-agent",
        )
        fix = (
            f"{facts.command('-n', cluster, 'delete', 'rolebinding', ADDON_NAME)} && {create}"
            if there
            else create
        )
        yield error(
            f"RoleBinding {cluster}/{ADDON_NAME} {'binds something else' if there else 'is not there'}: its"
            " scores are refused",
            fix,
            subject=cluster,
        )
    if not lacking and not wrong:
        yield ok(
            f"{plural(len(facts.inputs.addons), 'agent')}: each may write the scores of its own cluster and"
            " of no other"
        )


def _binds(binding: Object | None, cluster: str) -> bool:
    """Whether a binding gives the role to the agent, both when it registers by certificate (the group) and by
    token (the account).
    """
    if binding is None or (binding.get("roleRef") or {}).get("name") != HUB_ROLE:
        return False
    group = {"kind": "Group", "name": f"system:open-cluster-management:cluster:{cluster}:addon:{ADDON_NAME}"}
    account = {"kind": "ServiceAccount", "name": f"{ADDON_NAME}-agent", "namespace": cluster}
    subjects = binding.get("subjects") or ()
    return all(any(_same(one, expected) for one in subjects) for expected in (group, account))


def _same(subject: Mapping[str, Any], expected: Mapping[str, str]) -> bool:
    return all(subject.get(key) == value for key, value in expected.items())


def agents(facts: Facts) -> Iterator[Result]:
    """Are the agents that OCM installs Available?"""
    away = []
    states = sorted(facts.of(Source.ADDON_STATES), key=namespace_of)
    for item in states:
        cluster = namespace_of(item)
        failed = next(
            (
                (kind, one)
                for kind in ("RegistrationApplied", "ManifestApplied")
                if (one := _failed(item, kind))
            ),
            None,
        )
        if failed is not None:
            kind, found = failed
            away.append(cluster)
            fix = facts.command("-n", cluster, "describe", "managedclusteraddon", ADDON_NAME)
            yield error(
                f"agent of {cluster}: {kind} is False: {found.get('reason')}: {found.get('message')}",
                fix,
                subject=cluster,
            )
            continue
        available = condition(item, "Available")
        if available is None or available.get("status") != "True":
            away.append(cluster)
            fix = (
                f"kubectl --context {cluster} -n {AGENT_NAMESPACE} describe deployment {ADDON_NAME}  # on the"
                " cluster itself"
            )
            why = (
                f"{available.get('reason')}: {available.get('message')}"
                if available
                else "OCM has not reported on it yet"
            )
            yield warning(f"agent of {cluster} is not Available: {why}", fix, subject=cluster)
    if not away:
        yield ok(f"{plural(len(states), 'agent')}, all Available")


def _failed(item: Object, kind: str) -> Mapping[str, Any] | None:
    found = condition(item, kind)
    return found if found is not None and found.get("status") == "False" else None
