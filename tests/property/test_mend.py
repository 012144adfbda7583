"""Laws of `validate --fix`.

What it writes validates, says the same as before, keeps every comment, and is left alone by a
second run.

Scorers are composed of spellings, old and new, in block and flow style, with comments, line ends
and indentation of all sorts.
"""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_dsf.cli.validate import mended
from gitops_dsf.repository.load import load_text
from gitops_dsf.repository.model.validate import declare
from tests.support.laws import examples

HOST, PATH = "http://prometheus.monitoring.svc:9090", "/api/v1/query_range"
QUERY = 'sum by (node) (rate(x{a="b"}[5m]))  # not a comment'
CANONICAL = {
    "description": "CPU: forecast",
    "configURL": "http://api.svc:8000/config",
    "configSyncMode": "None",
    "location": "Internal",
    "source": {
        "type": "Prometheus",
        "host": HOST,
        "path": PATH,
        "params": {"query": QUERY, "range": 3600, "step": 60},
    },
    "scoring": {
        "host": "http://api.svc:8000",
        "path": "/scoring",
        "params": {"name": "cpu", "interval": 60},
    },
}
OTHER = "apiVersion: v1 # nobody's business\nkind: 'Other'\nspec:   {mask:   [a]}\n"


class Writer:
    """Draws a text line by line."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.step = " " * draw(st.sampled_from([2, 3, 4]))
        self.comments = 0
        self.lines: list[str] = []

    def choose(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))

    def comment(self) -> str:
        self.comments += 1
        return f"# keep {self.comments}"

    def line(self, level: int, text: str) -> None:
        in_block_scalar = self.lines[-1].endswith(QUERY)  # a comment there would be content
        if not in_block_scalar and self.draw(st.integers(0, 9)) == 0:
            self.lines.append(
                self.choose(
                    "",
                    self.step * level + self.comment(),
                    self.step * (level + 1) + self.comment(),
                    self.comment(),
                )
            )
        tail = f"  {self.comment()}" if self.draw(st.integers(0, 3)) == 0 else ""
        self.lines.append(f"{self.step * level}{text}{tail}")

    def scalar(self, value: Any) -> str:
        if isinstance(value, int):
            return str(value)
        quoted = [f"'{value}'", '"' + value.replace('"', '\\"') + '"']
        plain = [] if ": " in value or "#" in value else [value]
        return self.choose(*quoted, *plain)

    def flow(self, fields: dict[str, Any]) -> str:
        parts = [
            f"{name}: {self.flow(value) if isinstance(value, dict) else self.scalar(value)}"
            for name, value in fields.items()
        ]
        return "{" + self.choose("", " ") + ", ".join(parts) + self.choose("", " ", ",") + "}"

    def mapping(self, level: int, fields: dict[str, Any]) -> None:
        for name, value in fields.items():
            if isinstance(value, dict) and self.draw(st.booleans()):
                self.line(level, f"{name}:")
                self.mapping(level + 1, value)
            elif isinstance(value, dict):
                self.line(level, f"{name}: {self.flow(value)}")
            elif value == QUERY and self.draw(st.booleans()):
                self.lines += [
                    f"{self.step * level}{name}: |-",
                    f"{self.step * (level + 1)}{QUERY}",
                ]
            else:
                self.line(level, f"{name}: {self.scalar(value)}")


@st.composite
def old_scorers(draw: st.DrawFn) -> str:
    """A scorer in a mixture of spellings."""
    writer = Writer(draw)

    def either(new: str, *old: str) -> str:
        return writer.choose(new, *old)

    def ends(host: str, path: str) -> dict[str, Any]:
        fields = {"host": host, either("path", "Path"): path}
        return fields if draw(st.booleans()) else {"endpoint": fields}

    params: dict[str, Any] = {"query": QUERY, "range": 3600, "step": 60}
    source = {
        either("type", "Type"): either("Prometheus", "prometheus"),
        **ends(HOST, PATH),
        either("params", "query"): params,
    }
    named = draw(st.booleans())
    scoring = {
        **ends("http://api.svc:8000", "/scoring"),
        "params": {"interval": 60} if named else {"name": "cpu", "interval": 60},
    }
    fields: list[tuple[str, Any]] = [
        ("description", "CPU: forecast"),
        (either("configURL", "ConfigURL"), "http://api.svc:8000/config"),
        (either("configSyncMode", "ConfigSyncMode"), either("None", "none")),
        ("location", either("Internal", "internal")),
        (either("source", "sources", "Source"), source),
        ("scoring", scoring),
        *([("name", "cpu")] if named else []),
    ]
    writer.lines += [
        "apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1",
        "kind: DynamicScorer",
        "metadata: {name: cpu}",
        "spec:",
    ]
    writer.mapping(1, dict(draw(st.permutations(fields))))
    return "\n".join(writer.lines) + draw(st.sampled_from(["\n", "\n\n", ""]))


@settings(examples(6, soak=400))
@given(text=old_scorers(), crlf=st.booleans(), mark=st.booleans(), around=st.booleans())
def test_what_is_written_validates_and_keeps_the_rest(
    text: str, crlf: bool, mark: bool, around: bool
) -> None:
    if around:
        text = f"{OTHER}---\n{text.rstrip()}\n---\n{OTHER}"
    text = text.replace("\n", "\r\n") if crlf else text
    text = f"\ufeff{text}" if mark else text

    new = fixed(text)

    assert fixed(new) == new
    loaded = load_text(new, file="scorers/a.yaml")
    [document] = [document for document in loaded.documents if document.kind == "DynamicScorer"]
    assert document.data["spec"] == CANONICAL
    codes = {item.code for item in declare(loaded).diagnostics}
    assert codes <= {"DSF012"}, "only the other documents are of an unknown kind"
    assert sorted(kept(new)) == sorted(kept(text))
    assert new.startswith("\ufeff") == mark
    assert (new.count("\r\n") == new.count("\n")) == (crlf or "\n" not in text)
    if around:
        ending = OTHER.replace("\n", "\r\n") if crlf else OTHER
        assert new.removeprefix("\ufeff").startswith(ending)
        assert new.endswith(ending)


def fixed(text: str) -> str:
    while True:
        findings = declare(load_text(text, file="scorers/a.yaml")).diagnostics
        new = mended(text, findings).text
        if new == text:
            return text
        text = new


def kept(text: str) -> list[str]:
    return [line.partition("# keep ")[2].strip() for line in text.splitlines() if "# keep " in line]


@settings(examples(30))
@given(text=st.text(max_size=200))
def test_any_text_is_left_alone(text: str) -> None:
    assert fixed(text) == text
