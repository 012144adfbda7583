"""A language model's opinion of a few figures of a cluster, as a number from 0 to 100.

Any API with OpenAI's chat completions will do. Its address LLM_URL and LLM_KEY_FILE, a file with
the key, are in the environment of this scoring API: whoever edits a DynamicScorer could otherwise
send the key elsewhere.
"""

import http.client
import os
import re
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from dsf_scorer import RefusedError, Score, Series, batch_scorer

TIMEOUT_SECONDS = 20
"""Below the 30 s that the agent waits for a score."""
MAX_BYTES = 1_000_000
RULES = (
    "You rate clusters. Answer with one whole number from 0 (worst) to 100 (best), and"
    " nothing else."
)


class Judge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``arguments`` of the DynamicScorer."""

    model: str
    question: str
    """What is to be judged, in a sentence or two."""


class _Message(msgspec.Struct):
    content: str


class _Choice(msgspec.Struct):
    message: _Message


class _Completion(msgspec.Struct):
    choices: list[_Choice]


@batch_scorer(
    name="llm-judge",
    query=(
        'label_replace(100 * avg(rate(node_cpu_seconds_total{mode="idle"}[5m])),'
        ' "meta", "idle CPU in percent", "", "");'
        ' label_replace(sum(kube_pod_status_phase{phase="Pending"}), "meta", "pending'
        ' pods", "", "")'
    ),
    range_seconds=3600,
    step_seconds=300,
    interval_seconds=900,
)
def app(series: list[Series], arguments: Judge) -> list[Score]:
    """What a language model thinks of a few figures of the cluster, 0 to 100; higher is better."""
    figures = [
        _line(one) for one in series if set(one.labels) == {"meta"} and len(one.finite().values)
    ]
    if not figures:
        return []
    answer = _ask(arguments, "\n".join([arguments.question, *sorted(figures)]))
    if not re.fullmatch(r"\s*(100|[0-9]{1,2})\s*\.?\s*", answer):
        msg = f"the model did not answer with a number from 0 to 100, but {answer[:100]!r}"
        raise RefusedError(msg)
    return [Score({"meta": "judgement"}, float(answer.strip().rstrip(".")))]


def _line(one: Series) -> str:
    """A figure in words.

    Only the label `meta` is sent, which the query sets: the model may take labels that tenants
    choose, such as names of pods, for instructions.
    """
    values = one.finite().values
    return f"{one.labels['meta']}: now {values[-1]:.4g}, an hour ago {values[0]:.4g}"


def _ask(judge: Judge, text: str) -> str:
    parts = urlsplit(os.environ.get("LLM_URL", ""))
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        msg = "LLM_URL of the scoring API must be the address of chat completions"
        raise RuntimeError(msg)
    headers = {"Content-Type": "application/json"}
    if key_file := os.environ.get("LLM_KEY_FILE"):
        headers["Authorization"] = f"Bearer {Path(key_file).read_text(encoding='utf-8').strip()}"
    body = {
        "model": judge.model,
        "temperature": 0,
        "max_tokens": 8,
        "messages": [{"role": "system", "content": RULES}, {"role": "user", "content": text}],
    }
    # http.client follows no redirect, which would take the key along.
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request(
            "POST", parts.path or "/", body=msgspec.json.encode(body), headers=headers
        )
        answer = connection.getresponse()
        content = answer.read(MAX_BYTES)
        if answer.status != http.client.OK:
            msg = f"the model's API answered {answer.status}"
            raise RuntimeError(msg)
        return msgspec.json.decode(content, type=_Completion).choices[0].message.content
    finally:
        connection.close()
