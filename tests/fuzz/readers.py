# ruff: noqa: E501 - words of languages
"""What is fuzzed: each reader takes bytes, and checks what must hold whatever the bytes are.

A reader may raise nothing: errors of its module's own types are answers. Time and memory are
bounded by the fuzzer for each input.
"""

import json
import math
import re
import tempfile
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import numpy as np

from dsf_agent.errors import AgentError
from dsf_agent.fetch import promjson
from dsf_agent.fetch.promjson import SeriesText
from dsf_agent.kubernetes import devices, objects
from dsf_agent.kubernetes.values import Totals, samples
from dsf_agent.scoring import batches as scoring_batches
from dsf_agent.scoring import query as scoring_query
from dsf_agent.scoring import results
from dsf_agent.scoring.clusterlabels import ClusterLabelSets
from dsf_agent.scoring.labels import LabelSets
from dsf_agent.scoring.split import split
from dsf_wire import measures, query
from gitops_dsf.backtest.rawscores import StoredSeries as Samples
from gitops_dsf.canonicalyaml import emit
from gitops_dsf.diagnostics import Severity
from gitops_dsf.errors import GitopsDsfError
from gitops_dsf.hub.moves.flapping import episodes
from gitops_dsf.hubreader.files import documents
from gitops_dsf.importer.selection import ImportSelection
from gitops_dsf.importer.take import take
from gitops_dsf.journal.lines import appended, file_of
from gitops_dsf.journal.lines import encode as encode_record
from gitops_dsf.journal.lines import read as read_journal
from gitops_dsf.journal.timeline import by_placement, changes, in_order, times, values_at
from gitops_dsf.metricstore.errors import StoreError
from gitops_dsf.metricstore.files import read_path
from gitops_dsf.repository.files import write_files
from gitops_dsf.repository.load import Loaded, load_text
from gitops_dsf.repository.model.series_values import MAX_VALUES, SeriesValuesError, expand
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.repository.sources import load
from gitops_dsf.resolve import findings
from gitops_dsf.resolve.context import context_of
from gitops_dsf.resolve.promql.check import check
from gitops_dsf.resolve.promql.labels import can_have, others
from gitops_dsf.resolve.promql.mixing import mixing_clauses
from gitops_dsf.show.journal import explained_text, log_text
from gitops_dsf.simulator.cel.checker import CelSyntaxError, Checker
from gitops_dsf.simulator.cel.function import CelUnsupported
from gitops_dsf.simulator.cel.patterns import regex_error

T = TypeVar("T")
MAX_BYTES: Final = 2048
"""Bytes of an input."""
MAX_CHARACTERS: Final = 60_000
"""Characters of a text with a repeated piece."""
_CHECKER: Final = Checker()


@dataclass(frozen=True, kw_only=True)
class Reader:
    """One module that reads, and words that help the fuzzer to find its branches."""

    read: Callable[[bytes], None]
    words: Sequence[str]


def loaded_from(files: Mapping[str, bytes]) -> Loaded:
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), files)
        return load(Path(folder))


def repository(content: bytes) -> None:
    """A file of a fleet repository. What was read, written by the emitter, reads as the same."""
    loaded = loaded_from({"apps/web.yaml": content})
    lines = content.count(b"\n") + content.count(b"\r") + 1
    for finding in loaded.diagnostics:
        assert 1 <= finding.position.line <= lines, finding
    for document in loaded.documents:
        assert 1 <= document.start[0] <= lines
        if document.ambiguous:
            continue
        try:
            text = emit(document.data)
        except ValueError:
            # An infinity or NaN, which has no place in a manifest.
            continue
        again = load_text(text, file="apps/web.yaml")
        read = [one.data for one in again.documents]
        assert read == [document.data], (text, again.diagnostics)


def fleet(content: bytes) -> None:
    """Objects of a fleet repository, checked by all rules. Each finding has a place in the text."""
    loaded = loaded_from({**_REST, "scorers/all.yaml": content})
    lines = content.count(b"\n") + content.count(b"\r") + 1
    for finding in findings(context_of(declare(loaded))):
        assert finding.message, finding
        if finding.position.file == "scorers/all.yaml":
            assert 1 <= finding.position.line <= lines, finding


def expression(content: bytes) -> None:
    """A query of a scorer: each expression of it, with mistakes that point into the text."""
    text = content.decode(errors="replace")
    for part in query.split(text):
        assert text[part.offset : part.offset + len(part.text)] == part.text
        checked = check(part.text)
        assert (checked.tree is None) == bool(checked.mistakes)
        for mistake in checked.mistakes:
            assert 0 <= mistake.offset <= len(part.text), mistake
            assert mistake.message
        if checked.tree is not None:
            can_have(checked.tree, "node")
            others(checked.tree, ["node"])
            for clause in mixing_clauses(part.text, checked.tree, "cluster", max_tokens=MAX_BYTES):
                assert 0 <= (clause.offset or 0) <= len(part.text), clause
    with suppress(measures.MeasureError):
        measures.select(text)


def native(content: bytes) -> None:
    """Long texts for the parsers that are not Python: what stands between the first two NUL bytes
    is repeated. None of them may end the process.
    """
    head, piece, *tail = [*content.decode(errors="replace").split("\0", 2), ""]
    times = (MAX_CHARACTERS - len(head)) // max(len(piece), 1)
    text = f"{head}{piece * times}{''.join(tail)}"
    for part in query.split(text):
        check(part.text)
    loaded_from({"apps/web.yaml": text.encode(errors="replace")})
    with suppress(CelSyntaxError, CelUnsupported):
        _CHECKER.check(text)
    with suppress(CelUnsupported):
        regex_error(text)


def scores(content: bytes) -> None:
    """The answer of a scoring API.

    Each result is kept or counted, as the standard library counts them, also by the hub scorer.
    """
    label_sets = LabelSets(template="${node}", cluster="c1", score_name="s")
    of_clusters = ClusterLabelSets(template="${node}", score_name="s", label="cluster")
    of_clusters.use(_CLUSTERS)
    try:
        found = _driven(results.read(content, where="the API", label_sets=label_sets))
    except AgentError:
        return
    assert (
        _driven(results.read(content, where="the API", label_sets=of_clusters)).total == found.total
    )
    assert len(found.label_sets) == len(found.scores)
    assert all(abs(score) <= 1.8e308 for score in found.scores)
    assert found.dropped.total() == 0 or found.first_fault
    with suppress(ValueError, RecursionError):
        plain = json.loads(content)
        assert found.total == len(plain["results"])


def series(content: bytes) -> None:
    """The answer of a metric source.

    Pieces and the whole give the same series, and the parts are JSON.
    """
    try:
        whole: SeriesText | None = _driven(promjson.read([content], where="the source"))
    except AgentError:
        whole = None
    chunks = [content[start : start + 7] for start in range(0, len(content), 7)]
    try:
        # The caller looks at the encoding first.
        pieces = (
            _driven(promjson.in_pieces(chunks, where="the source", piece=1))
            if _is_utf8(content)
            else None
        )
    except AgentError:
        pieces = None
    else:
        assert b"".join(chunks) == (content if pieces is None else b"")
    if whole is None:
        assert pieces is None
        return
    joined = b"[" + b",".join(map(bytes, whole.parts)) + b"]"
    with suppress(RecursionError):
        assert len(json.loads(joined)) == whole.count
    if pieces is not None:
        assert pieces.count == whole.count
        assert b",".join(map(bytes, pieces.parts)) == b",".join(map(bytes, whole.parts))
    _as_scores(whole)
    try:
        parts = _driven(split(whole, label="cluster", clusters=_CLUSTERS))
    except AgentError:
        return
    rows = json.loads(joined)
    for name, of_cluster in parts.items():
        wanted = [row for row in rows if _CLUSTERS.get(row["metric"].get("cluster", "")) == name]
        assert [json.loads(one) for one in of_cluster] == wanted


def _as_scores(series: SeriesText) -> None:
    """The series as the results of a Query scorer: each is kept or counted, and pieces give the
    same.
    """
    found: list[Any] = []
    module: Any = scoring_batches
    most = module.BATCH
    for size in (most, 1):  # small answers in batches, too
        module.BATCH = size
        label_sets = LabelSets(template="${node}", cluster="c1", score_name="s")
        try:
            found.append(_driven(scoring_query.score(series, label_sets=label_sets)))
        finally:
            module.BATCH = most
    assert found[0].total == series.count
    assert found[0] == found[1]


def kubernetes(content: bytes) -> None:
    """Objects of an API server, one on each line.

    Every measure is a number, and nothing is left of objects that are gone.
    """
    totals, pods = Totals(), dict[str, objects.Pod]()
    of_devices, slices = devices.DeviceTotals(), dict[str, devices.ResourceSlice]()
    claims = dict[str, tuple[devices.DeviceId, ...]]()
    usage: Mapping[str, objects.NodeUsage] = {}
    for line in content.split(b"\n"):
        with suppress(msgspec.MsgspecError, ValueError, RecursionError):
            name, node = objects.node(msgspec.Raw(line))
            totals.node_changed(name, totals.nodes.get(name), node)
        with suppress(msgspec.MsgspecError, ValueError, RecursionError):
            key, pod = objects.pod(msgspec.Raw(line))
            totals.pod_changed(key, pods.get(key), pod)
            pods[key] = pod
        with suppress(msgspec.MsgspecError, ValueError, RecursionError):
            usage = objects.usage(msgspec.json.decode(line, type=objects.NodeMetricsList))
        with suppress(msgspec.MsgspecError, ValueError, RecursionError):
            name, part = devices.resource_slice(msgspec.Raw(line))
            of_devices.slice_changed(name, slices.get(name), part)
            slices[name] = part
        with suppress(msgspec.MsgspecError, ValueError, RecursionError):
            key, given = devices.resource_claim(msgspec.Raw(line))
            of_devices.claim_changed(key, claims.get(key), given)
            claims[key] = given
    counts = of_devices.counts(now=0.0)
    for by_node in counts.values():
        for counted in by_node.values():
            assert counted.allocated + counted.available <= counted.allocatable, counted
    for measure in measures.MEASURES.values():
        selection = measures.Selection(measure=measure)
        for sample in samples(selection, totals=totals, usage=usage, devices=counts):
            assert math.isfinite(sample.value), (measure.name, sample)
    names = {*totals.nodes, *(pod.node for pod in pods.values())}
    for key, pod in pods.items():
        totals.pod_changed(key, pod, None)
    assert (totals.pending, totals.unschedulable) == (0, 0)
    assert not any(totals.requested(name) for name in names)
    for name, part in slices.items():
        of_devices.slice_changed(name, part, None)
    assert of_devices.counts(now=0.0) == {}


def history(content: bytes) -> None:
    """A saved answer of a metric store, packed or not.

    Samples are in order of time, and equal to those that the standard library finds.
    """
    packed = content.startswith(b"\x1f\x8b")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("answer.json.gz" if packed else "answer.json")
        path.write_bytes(content)
        try:
            [answer] = read_path(path)
        except StoreError:
            return
    for one in answer.series:
        assert len(one.times) == len(one.values)
        assert bool(np.isfinite(one.times).all())
        assert bool((np.diff(one.times) > 0).all())
    with suppress(RecursionError):
        # Fields that are not read may hold anything, also bytes that are not UTF-8.
        plain = {} if packed else json.loads(content.decode(errors="replace"))["data"]
        rows = plain.get("result", [])
        assert packed or len(rows) == len(answer.series)
        for row, one in zip(rows, answer.series, strict=False):
            assert row["metric"] == one.labels
            _as_pairs(row.get("values", []), one)


def journal(content: bytes) -> None:
    """A file of the journal. Each line is a record, repeats one, or is reported."""
    files = {"2026-05.jsonl": content}
    found = read_journal(files)
    assert len(found.records) + len(found.bad) <= content.count(b"\n") + 1
    for record in found.records:
        assert read_journal({"": encode_record(record)}).records == (record,)
        assert explained_text(record)
    for each in by_placement(found.records).values():
        at = times(each)
        assert sorted(at) == at
        episodes(changes(each))
        assert len(list(values_at(each))) == len(each)
    assert log_text(in_order(found.records))
    assert read_journal(appended({}, found.records)).records == tuple(
        sorted(found.records, key=file_of)
    )


def values(content: bytes) -> None:
    """The values of a series in a ScoreTest.

    They are bounded, and a mistake is inside of the text.
    """
    text = content.decode(errors="replace")
    try:
        found = expand(text)
    except SeriesValuesError as error:
        wrong = error
    else:
        assert len(found) <= MAX_VALUES
        return
    assert 0 <= wrong.offset < len(text)
    assert str(wrong)


def _as_pairs(written: object, found: Samples) -> None:
    """Compares samples that are as Prometheus writes them."""
    try:
        pairs = [(float(time), float(value)) for time, value in written]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        return
    if all(isinstance(value, str) and _NUMBER.fullmatch(value) for _, value in written):  # type: ignore[attr-defined]
        # Of several samples of one time the last one counts.
        last = dict(pairs)
        assert list(last) == list(found.times)
        assert np.array_equal(list(last.values()), found.values, equal_nan=True)


_NUMBER: Final = re.compile(r"[+-]?(Inf|NaN|[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?)")
_CLUSTERS: Final = {"a": "c1", "b": "c2"}
_FLEET: Final = {
    "gitops-dsf.yaml": (
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: FleetRepository\nmetadata: {name: fleet}\n"
        'spec: {git: {url: "https://git.example.com/fleet.git"}}\n'
    ),
    "clusters/a.yaml": (
        "# ours\napiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
        "metadata:\n  name: a  # fixed\n  labels: {env: prod}\nspec:"
        " {taints: [{key: k, effect: NoSelect}]}\n"
    ),
}

_REST: Final = {file: text.encode() for file, text in _FLEET.items()}


def hub(content: bytes) -> None:
    """Objects of a hub into a repository. A second import of the same objects has nothing to do."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for file, text in _FLEET.items():
            (root / file).parent.mkdir(exist_ok=True)
            (root / file).write_text(text)
        try:
            objects = [item.plain() for item in documents(content, file="hub.yaml")]
            found = take(root, objects, selection=ImportSelection(resources=True))
        except GitopsDsfError:
            return
        write_files(found.root, found.files)
        for file in found.files:
            broken = loaded_from({file: (root / file).read_bytes()}).diagnostics
            assert not [item for item in broken if item.severity is Severity.ERROR], broken
        again = take(root, objects, selection=ImportSelection(resources=True))
        assert not again.added, again.added
        assert not again.changed, again.changed


def _driven(coroutine: Coroutine[Any, None, T]) -> T:
    """The value of a coroutine that waits for nothing but its turn."""
    try:
        while True:
            coroutine.send(None)
    except StopIteration as end:
        value: T = end.value
        return value


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


READERS: Final[Mapping[str, Reader]] = {
    "repository": Reader(
        read=repository,
        words=(
            "apiVersion: ", "kind: ", "metadata:\n", "name: ", "---\n", "...\n", "- ", "? ", ": ", ("&a"
" "),
            "*a", "!!", "!!str ", "<<: ", "|\n", ">-\n", "|2\n", "'", '"', "\\", "{", "}", "[", "]", ",",
            "#", "%YAML 1.1\n", "\t", "\ufeff", "\x85", "\u2028", "~", "null", "yes", "017", "0o7", "1e3",
            ".inf", ".nan", "1_0", "12:30",
        ),
    ),
    "fleet": Reader(
        read=fleet,
        words=(
            ("apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1\nkind:"
" DynamicScorer\n"),
            "apiVersion: gitops-dsf.io/v1alpha1\nkind: MetricSource\n",
            "apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoredApplication\n",
            "apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoredPlacement\n",
            "apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoreTest\n", "given: {", "expect: {",
            "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\n",
            "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\n",
            "apiVersion: gitops-dsf.io/v1alpha1\nkind: Maintenance\n", "action: Drain", ("schedule:"
" {days: ["),
            "zone: ", "start: '2000-01-01T00:00:00+23:59'", "end: '2999-12-31T23:59:59-23:59'",
            "---\n", "metadata: {name: ", "labels: {", "spec: {", "source: {", "type: Kubernetes",
            "type: OpenTelemetry", "ref: a", "variants: [", "clusterSelector: {matchLabels: {",
            "matchExpressions: [{key: a, operator: In, values: [", "host: 'http://a.svc'", ("auth:"
" {"),
            "tokenSecretRef: {name: a, key: b}", "headers: [", "params: {query: ", ("scoring:"
" {type: Query"),
            "runsOn: Hub", "clusterLabel: {name: ", "predicates: [", "prioritizerPolicy: {",
            "generators: [", "{}", "[]", "null", "yes", "1", "}", "]", ", ", ": ", "'",
        ),
    ),
    "expression": Reader(
        read=expression,
        words=(
            "sum", " by (", " without (", "rate(", "[5m]", "[5m:1m]", " offset ", " @ end()", "topk(",
            '{a="b"}', "=~", "!~", " on (", " ignoring (", " group_left (", " bool ", " unless ",
            "histogram_quantile(", ";", "`", "'", '"', "\\", "#", "0x1f", "1e9", "Inf", "NaN",
            "label_replace(", "absent(", "time()", "-", "^", "%",
        ),
    ),
    "native": Reader(
        read=native,
        words=(
            "\0", 'a{b="', "\\n", "\\x41", "#\n", "//\n", "(", "[", "{", "-", "!", "up", "rate(", "1+",
            "true ? ", "&& true", ".a", "'", '"', "`", ";", "- ", "? ", ": ", "&a ", "*a", "|\n", "(a{1,30})",
            "[a-z]", "a|",
        ),
    ),
    "scores": Reader(
        read=scores,
        words=(
            '{"results":[', '{"metric":{', '"score":', '"node":"', "NaN", "Infinity", "-Infinity", "1e999",
            "null", "true", '"\\ud800"', '"\\u0000"', "}]}", "},{", "[", "]", "{", "}", ",", ":", '"', " ",
            "-0",
        ),
    ),
    "series": Reader(
        read=series,
        words=(
            '{"status":"success","data":{"resultType":"matrix","result":[', '{"metric":{', '},{"metric":',
            '"values":[', '[1700000000,"1"]', "]]}", "]}}", '"vector"', '"scalar"', '"value":[',
            '"warnings":["', '"infos":[', '"status":"error","errorType":"bad_data","error":"',
            '"isPartial":true', "null", "\\u", "[", "]", '"',
        ),
    ),
    "kubernetes": Reader(
        read=kubernetes,
        words=(
            '{"metadata":{"name":"', '"namespace":"', '"spec":{', '"status":{', '"nodeName":"',
            '"unschedulable":true', '"taints":[{"key":"', '"effect":"NoSchedule"', '"allocatable":{',
            '"conditions":[{"type":"Ready","status":"True"}]', '"containers":[{"name":"', '"resources":{',
            '"requests":{"cpu":"', '"memory":"', '"initContainers":[', '"restartPolicy":"Always"',
            '"overhead":{', '"phase":"Pending"', '"allocatedResources":{', '"items":[', '"usage":{',
            '"driver":"', '"pool":{"name":"', '"generation":', '"resourceSliceCount":', '"devices":[{"name":"',
            '"allNodes":true', '"perDeviceNodeSelection":true', '"sharedCounters":[{"name":"', '"counters":{"',
            '"value":"', '"consumesCounters":[{"counterSet":"', '"allocation":{"devices":{"results":[{',
            '"device":"', '"adminAccess":true', '"cpu":"1e999"', "100m", "8Gi", "1e-9", "nvidia.com/gpu", "null", "}", "]", ",", "\n",
        ),
    ),
    "history": Reader(
        read=history,
        words=(
            '{"status":"success","data":{"resultType":"matrix","result":[', '{"metric":{', '"values":[',
            '[1700000000,"1"]', '[1700000060.5,"NaN"]', '"+Inf"', '"histograms":[', "]]}", "]}}",
            '"warnings":["', '"isPartial":true', '"status":"error","errorType":"', '"error":"',
            "null", "\\u", "[", "]", '"', ",", "1e999",
        ),
    ),
    "journal": Reader(
        read=journal,
        words=(
            '{"id":"', '"number":', '"time":"2026-05-01T00:00:00Z"', "0001-01-01T00:00:00+23:59",
            "9999-12-31T23:59:59-23:59", '"kind":"Start"', '"kind":"Later"', '"placement":"', '"from":[',
            '"to":[', '"left":["a"]', '"joined":["b"]', '"count":', '"clusters":[{"cluster":"',
            '"selected":true', '"reason":"', '"terms":[{"name":"', '"weight":', '"scores":[{"name":"',
            '"before":', '"after":', '"doubt":"', '"compacted":true', '"lost":', "}", "]", ",", "\n",
        ),
    ),
    "values": Reader(
        read=values,
        words=(
            "1+2x3", "5x10", "_x", "_", "stale", "NaN", "+Inf", "-", "1e9", ".5", "0x", "x", " ", "\t",
            "999999999", "10000",
        ),
    ),
    "hub": Reader(
        read=hub,
        words=(
            ("apiVersion: cluster.open-cluster-management.io/v1\nkind:"
" ManagedCluster\nmetadata: {name: "),
            "apiVersion: cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSet\n",
            ("apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1\nkind:"
" DynamicScorer\n"),
            "labels: {", "spec: {", "taints: [", "{key: a, effect: NoSelect}", "status: {",
            "clusterClaims: [", "allocatable: {", "kind: List\nitems:\n", "---\n",
            '{"kind":"List","items":[', '"metadata":{"name":"', "hubAcceptsClient: false",
            "clusterSelector: ", "{", "}", "[", "]", ": ", ", ", "- ", "null", "1", "true",
        ),
    ),
}  # fmt: skip
"""By name: the loader, the rules, the readers of queries, the native parsers, the readers of
results, sources, nodes and pods, saved answers of metric stores, journals, values of tests, and
import.
"""
