"""Every code of a diagnostic, with its severity and a short title. docs/reference/diagnostics.md has an
entry for each.

A code never gets a second meaning: RETIRED lists the numbers of removed ones. DSF0xx: YAML and structure.
DSF1xx: scorers. DSF2xx: clusters, selectors and masks. DSF3xx: applications and Placements. DSF4xx:
ApplicationSets. DSF5xx: output. DSF6xx: tests.
"""

from dataclasses import dataclass
from functools import partial
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, Edit, Position, Severity


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of finding."""

    id: str
    severity: Severity
    """The default severity; a single finding can have another."""
    title: str

    def at(
        self,
        position: Position,
        message: str,
        hint: str = "",
        *,
        severity: Severity | None = None,
        edits: tuple[Edit, ...] = (),
    ) -> Diagnostic:
        """Makes a finding of this kind. The hint says what to write instead, and the edits do it."""
        return Diagnostic(
            code=self.id,
            severity=severity or self.severity,
            message=message,
            position=position,
            hint=hint,
            edits=edits,
        )


CODES: dict[str, Code] = {}
"""All codes by id, in order."""
RETIRED: Final = frozenset(
    {
        "DSF120",
        "DSF121",
        "DSF124",
        "DSF125",
        "DSF147",
        "DSF158",
        "DSF159",
        "DSF160",
        "DSF161",
        "DSF167",
    }
    | {
        "DSF168",
        "DSF171",
        "DSF209",
        "DSF319",
        "DSF328",
        "DSF329",
        "DSF334",
        "DSF337",
        "DSF338",
        "DSF339",
    }
    | {"DSF409"}
)
"""Codes that earlier versions reported."""


def _code(severity: Severity, number: str, title: str) -> Code:
    code = Code(number, severity, title)
    if code.id in CODES or code.id in RETIRED or (CODES and code.id < next(reversed(CODES))):
        raise ValueError(f"{code.id} is listed twice, retired or out of order")
    CODES[code.id] = code
    return code


_error = partial(_code, Severity.ERROR)
_warning = partial(_code, Severity.WARNING)
_notice = partial(_code, Severity.NOTICE)

SYNTAX = _error("DSF001", "not valid YAML")
TAB = _error("DSF002", "tab where YAML wants spaces")
DUPLICATE_KEY = _error("DSF003", "field written twice")
AMBIGUOUS = _error("DSF004", "unquoted value that readers disagree about")
ENCODING = _error("DSF005", "not UTF-8")
DEPTH = _error("DSF006", "nested too deeply")
ALIASES = _error("DSF007", "alias")
SIZE = _error("DSF008", "file or repository too large")
SYMLINK = _error("DSF009", "symbolic link that leaves the repository or leads nowhere")
EMPTY = _error("DSF010", "nothing to read")
NOT_AN_OBJECT = _error("DSF011", "document that is not an object")
UNKNOWN_KIND = _error("DSF012", "unknown kind or apiVersion")
UNKNOWN_FIELD = _error("DSF013", "unknown field")
MISSING_FIELD = _error("DSF014", "missing field")
WRONG_TYPE = _error("DSF015", "wrong type")
BAD_VALUE = _error("DSF016", "value that is not allowed")
WRONG_FOLDER = _error("DSF017", "kind in the wrong folder")
DUPLICATE_OBJECT = _error("DSF018", "object defined twice")
UNSUPPORTED_YAML = _error("DSF019", "YAML feature that is not read")
DIALECT = _error("DSF020", "spelling of another dialect")
UNREAD_FOLDER = _warning("DSF021", "folder or file that is not read")
UPSTREAM_ONLY = _error("DSF022", "field that the upstream controller does not know")
SETTINGS = _error("DSF023", "gitops-dsf.yaml missing or without its FleetRepository")
ARGOCD_CONTROL = _error("DSF024", "annotation or label that steers Argo CD")
MORE_FINDINGS = _error("DSF030", "more findings than are listed")
LARGE_ANNOTATIONS = _error("DSF031", "annotations larger than Kubernetes takes")
MANY_LABELS = _error("DSF032", "more labels than an object of Kubernetes should have")
ABSENT = _error("DSF035", "file that git has and that is not here")
GIT_UNASKED = _warning("DSF036", "git that cannot be asked")
CHANGED_BY_GIT = _error("DSF037", "file of which git has another content")
TEMPLATE = _error("DSF038", "template that is not rendered")
ELSEWHERE = _warning("DSF039", "spec.git.path that is not the folder of the fleet")

DUPLICATE_SCORE = _error("DSF101", "score name used twice")
SANITISED_CLASH = _error("DSF102", "score names that become equal as object names")
BAD_URL = _error("DSF103", "URL that cannot be called")
URL_CREDENTIALS = _error("DSF104", "credentials inside a URL")
SECRET_IN_YAML = _error("DSF105", "secret written into the repository")
INCOMPLETE_SCORER = _error("DSF106", "scorer that cannot run as written")
NOT_POSITIVE = _error("DSF107", "interval, range or step that is zero or negative")
TOO_MANY_POINTS = _error("DSF108", "more points per series than Prometheus returns")
PROMQL = _error("DSF109", "PromQL that does not parse")
UNKNOWN_FUNCTION = _error("DSF110", "PromQL function that is not known")
RESULT_TYPE = _error("DSF111", "PromQL result that a range query cannot return")
UNKNOWN_PLACEHOLDER = _error("DSF112", "unknown placeholder in scoreDimensionFormat")
UNFILLED_PLACEHOLDER = _notice("DSF113", "placeholder that the query does not fill")
NO_LOCK = _warning("DSF114", "Full scorer without a lock")
LOCK_OVERRULES = _warning("DSF115", "lock that contradicts the spec")
LOCK_WITH_TOKEN = _error("DSF116", "host known only from a lock, combined with a token")
LOCK_MOVES_HOST = _error("DSF117", "lock that changes a host")
STALE_LOCK = _warning("DSF118", "lock without a use")
SHORT_TTL = _warning("DSF119", "score that expires between two runs")
UNASKED_SOURCE = _warning("DSF122", "metric source that is never asked")
UPSTREAM_CANNOT_RUN = _error("DSF123", "scorer that the upstream addon cannot run")
RESERVED_SECRET = _error("DSF126", "Secret that no scorer may send")
TOKEN_IN_CLEAR = _error("DSF127", "token over plain http")
POD_TOKEN_OUTSIDE = _error("DSF128", "token of the agent's pod for a host outside of the cluster")
TOKEN_OUTSIDE = _warning("DSF129", "token for a host outside of the cluster that nobody allowed")
SHARED_SECRET = _warning("DSF130", "one Secret for several hosts")
METADATA_HOST = _error("DSF131", "link-local address or metadata service as a host")
FIELD_OF_AN_API = _error("DSF132", "field of a scoring API in a scorer without one")
QUERY_WITHOUT_SOURCE = _error("DSF133", "Query scorer without a metric source")
DEFAULT_SCORE = _error("DSF134", "defaultScore that cannot be published")
EMPTY_PLACEHOLDER = _warning("DSF135", "placeholder that is empty in every score")
SERIES_SHARE_ITEM = _warning("DSF136", "several series for one score item")
UNKNOWN_SOURCE = _error("DSF137", "MetricSource that does not exist")
SOURCE_BESIDE_REF = _error("DSF138", "field beside a reference to a MetricSource")
SOURCE_LACKING = _error("DSF139", "MetricSource without a variant for a cluster")
UNUSED_SOURCE = _warning("DSF140", "MetricSource that no scorer names")
DEAD_VARIANT = _warning("DSF141", "variant of a MetricSource that is never used")
BAD_HEADER = _error("DSF142", "header that the agent cannot send")
CERTIFICATE_WITHOUT_TLS = _error("DSF143", "client certificate for a host without https")
MEASURE = _error("DSF145", "measure that source type Kubernetes does not have")
SOURCE_FIELD = _error("DSF146", "field that source type Kubernetes does not use")
NO_CLUSTER_LABEL = _error("DSF148", "scorer on the hub without a cluster label")
MIXED_CLUSTERS = _error("DSF149", "query on the hub that mixes clusters")
SAME_IDENTITY = _error("DSF150", "clusters that a label cannot tell apart")
NO_IDENTITY = _warning("DSF151", "cluster that no series can name")
WRONG_PLACE = _error("DSF152", "setting that does not fit where the scorer runs")
LARGE_HUB_CONFIG = _error("DSF153", "configuration of the hub scorer larger than a ConfigMap takes")
RECEIVER_MISSING = _error("DSF154", "OpenTelemetry source that no receiver serves")
RECEIVER_FIELD = _error("DSF155", "field that the OpenTelemetry receiver does not use")
IMAGE_WITHOUT_DIGEST = _error("DSF157", "image without a digest")
DEAD_ROLLOUT = _warning("DSF162", "rollout that has no effect")
LOCAL_HOST = _warning("DSF166", "host that is the pod itself")
POD_PLACEMENT = _error("DSF169", "node selector that Kubernetes refuses")
POD_RESOURCES = _error("DSF170", "request above its limit")
PLACEHOLDER_URL = _warning("DSF175", "git URL that init wrote as an example")
METRICS_OUTSIDE = _notice("DSF176", "scoring API outside of the clusters")
NO_HISTORY = _error("DSF177", "range with source type Kubernetes")
SERVICE_BEHIND_PROXY = _warning("DSF178", "Service of the cluster that is called through the proxy")
UNSET_IMAGE = _notice("DSF191", "image that is in no registry")
HUB_WRITES = _warning("DSF192", "more writes than a small hub or the hub scorer takes")
LOWEST_SCORE = _notice("DSF193", "lowest score that equals a missing one")
IMAGE_VERSION = _notice("DSF194", "image of another version")
PERCENT = _notice("DSF195", "percent on a scale that ends at 1")
BAD_PARAMETER = _error("DSF196", "URL parameter that a source cannot have")
NO_API = _warning("DSF197", "URL at which no API answers")

UNKNOWN_CLUSTER = _error("DSF201", "mask for an unknown cluster")
UNKNOWN_SCORE = _error("DSF202", "mask for an unknown score")
MATCHES_NOTHING = _warning("DSF203", "mask or selector that matches nothing")
DUPLICATE_MASK = _warning("DSF204", "mask written twice")
NOWHERE = _warning("DSF205", "scorer that runs on no cluster")
BAD_SELECTOR = _error("DSF206", "label selector that Kubernetes refuses")
CONFIG_NAME = _error("DSF207", "DynamicScoringConfig that would not be read")
NO_CLUSTERS = _warning("DSF208", "no clusters in the inventory")
CLUSTER_NAMESPACE = _error("DSF210", "cluster named like a namespace of the platform")
HUB_NAMESPACE = _error("DSF211", "hub namespace that belongs to others")
IN_NO_SET = _notice("DSF212", "cluster in no set that a Placement chooses from")
IGNORED_NAMESPACE = _warning("DSF213", "namespace that has no effect")

UNKNOWN_SCORER = _error("DSF301", "unknown scorer")
SCORE_NOT_RUNNING = _error("DSF302", "score that no eligible cluster publishes")
DIMENSION = _error("DSF303", "dimension that no fixed name can match")
MISSING_BEATS_REAL = _warning("DSF304", "missing score that beats real ones")
STICKINESS = _error("DSF305", "stickiness that cannot be expressed")
REPLACE_EXCLUDE = _error("DSF306", "Replace together with Exclude")
ZERO_WEIGHT = _warning("DSF307", "score that has no effect")
DUPLICATE_COORDINATE = _error("DSF308", "score listed twice")
UNKNOWN_SET = _error("DSF309", "unknown ManagedClusterSet")
NO_ELIGIBLE_CLUSTER = _error("DSF310", "no eligible cluster")
LONG_NAME = _error("DSF311", "name too long for where it is used")
CLUSTER_COUNT = _error(
    "DSF312", "numberOfClusters that evicts everything, or at which the scheduler panics"
)
PRIORITIZER = _error("DSF313", "prioritizer that OCM refuses")
DECISION_GROUPS = _error("DSF314", "decision groups that remove every decision")
TOLERATION = _error("DSF315", "toleration that OCM treats as misconfigured")
CEL_PREDICATE = _warning("DSF316", "CEL predicate that can drop clusters silently")
IMPLICIT_DEFAULT = _warning("DSF317", "default that is not written out")
NO_STEADY = _warning("DSF318", "placement that moves at every point of score")
MANY_DECISIONS = _warning("DSF320", "more than 100 clusters in one decision")
PLACEMENT_SHAPE = _error("DSF321", "field of the wrong shape for OCM or Argo CD")
"""For fields that are copied into the output unchanged."""
SCORE_SUSPENDED = _warning("DSF322", "score of a suspended scorer")
FOREIGN_SCORE = _warning("DSF323", "score that no scorer here publishes")
CEL_SYNTAX = _error("DSF324", "CEL expression that does not compile, or yields no bool")
UNREAD_FIELD = _warning("DSF325", "field that OCM takes and does not read")
UNKNOWN_SCORED_PLACEMENT = _error("DSF326", "unknown ScoredPlacement")
REFERENCE_AND_RANKING = _error("DSF327", "ranking beside a reference to a ScoredPlacement")
SOURCE_PATH = _error("DSF335", "path outside of the repository")
REPOSITORY_URL = _error("DSF336", "repoURL that Argo CD cannot fetch")
UNKNOWN_SET_OF_CLUSTER = _warning("DSF340", "cluster in a set that does not exist")
PLATFORM_DESTINATION = _warning("DSF341", "application in a namespace of the platform")
GO_TEMPLATE = _error("DSF342", "template that Argo CD cannot run")
TEMPLATE_PARAMETER = _error("DSF343", "parameter that the generator does not give")
TEMPLATE_COST = _error("DSF344", "template that costs Argo CD much")
TEMPLATE_LANGUAGE = _error("DSF345", "Go template without goTemplate")
AMBIGUOUS_SOURCE = _error("DSF346", "source that says two things")
UNKNOWN_REFERENCE = _error("DSF347", "value file of an unknown source")
PACE_WEIGHTS = _error("DSF348", "weights that cannot hold a paced Placement")
PACE_WITHOUT_RECONCILER = _error("DSF349", "pace that nobody keeps")
PACE_FIELD = _warning("DSF350", "field of paced moves that has no effect")
WINDOW_NEVER_OPENS = _error("DSF351", "maintenance window that never opens")
WINDOW_CLOCKS = _warning("DSF352", "maintenance window that a change of clocks hits")
WINDOWS_OVERLAP = _warning("DSF353", "maintenance windows of one cluster that overlap")
MAINTENANCE_STRANDS = _warning("DSF354", "maintenance that leaves too few eligible clusters")
MAINTENANCE_NEEDS = _error("DSF355", "maintenance that nobody carries out")
UNKNOWN_IN_MAINTENANCE = _error("DSF356", "maintenance of something that does not exist")
MANY_WINDOWS = _error("DSF357", "more maintenance than is compared")
CLUSTER_LACKS = _error("DSF358", "label or claim that a cluster lacks")
PLACEMENT_NAMESPACE = _error("DSF360", "Placement in a namespace of the platform or of a cluster")
APPLICATION_NAME = _error("DSF361", "Application that two ApplicationSets generate")
OWN_APPLICATION = _error("DSF362", "Application named like one of rendered/argocd")
UNREACHABLE_STICKINESS = _warning("DSF363", "stickiness that no score overcomes")
TOO_FEW_CLUSTERS = _warning("DSF364", "more clusters than are eligible")
SAME_OBJECTS = _warning("DSF365", "two applications with the same objects")
DEAD_BAND = _warning("DSF366", "dead band above the stickiness")
UNSTABLE_TEMPLATE = _warning("DSF367", "template that gives something else each time")
TEXTS_AS_A_WHOLE = _error("DSF368", "labels or claims used as a whole")
BINDING_NAME = _error("DSF370", "binding that is not named as its set")
BINDING_OWNER = _warning("DSF371", "binding with two owners")

WRONG_NAMESPACE = _error("DSF401", "object outside of the Argo CD namespace")
GENERATOR = _error("DSF402", "clusterDecisionResource generator that cannot work")
DECISION_BY_NAME = _error("DSF403", "decision looked up by name")
TEMPLATED_PROJECT = _error("DSF404", "templated project")
GENERATOR_CONFIG = _warning("DSF405", "generator ConfigMap of unknown content")
DELETION_POLICY = _warning("DSF406", "ApplicationSet that deletes when a decision is empty")
UNKNOWN_PLACEMENT = _error("DSF407", "unknown Placement")
SCORE_IN_TEMPLATE = _error("DSF408", "score in an Application's template")
PLATFORM_PROJECT = _error("DSF410", "application in an AppProject of the platform")
CONSTANT_NAME = _error("DSF411", "one name for several Applications")
DESTINATION = _error("DSF412", "destination that names no cluster, or two")
NO_GENERATOR = _error("DSF413", "ApplicationSet that generates nothing")

LARGE_WORK = _error("DSF501", "ManifestWork larger than OCM takes")
FULL_SHARD = _error("DSF502", "works directory larger than Argo CD takes")
LARGE_SET = _error("DSF503", "labels and claims larger than Argo CD takes")

SERIES_VALUES = _error("DSF601", "values of a test's series that do not parse")
UNKNOWN_IN_TEST = _error("DSF602", "test about something that does not exist")
TEST_DIMENSION = _error("DSF603", "test of a score that does not name its item")
TEST_TWICE = _error("DSF604", "test that gives one thing twice")

DESTINATIONS: Final = (TOKEN_OUTSIDE, METRICS_OUTSIDE)
"""Tokens or metrics go to a host that gitops-dsf.yaml does not allow. `ci check` takes these for errors: the
author of a pull request writes the host, and code owners of gitops-dsf.yaml allow it.
"""
