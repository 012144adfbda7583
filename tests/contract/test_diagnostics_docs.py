"""The codes of findings.

Each is explained, its bad example gives the finding, and its good one none.

Some codes cannot be shown by a few lines. Their findings are made here, or are in
tests/golden/findings.txt.
"""

import pkgutil
import re
import subprocess
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

import pytest

from gitops_dsf.cli.main import main
from gitops_dsf.diagnostics import codes
from gitops_dsf.diagnostics.code import FindingCode
from gitops_dsf.diagnostics.codes import CODES, RETIRED
from gitops_dsf.pipeline import check, check_declared
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.repository.sources import load
from gitops_dsf.resolve import applicable
from gitops_dsf.resolve.context import context_of
from gitops_dsf.resolve.rules import RULES
from tests.support.diagnostics_docs import write
from tests.support.pages import ROOT
from tools.diagnostics import PAGE, page

SHOWN = [code for code in CODES.values() if code.bad]
UNSHOWN = {
    "DSF005", "DSF008", "DSF009", "DSF010", "DSF030", "DSF031", "DSF032", "DSF035", "DSF036",
    "DSF037", "DSF039", "DSF040", "DSF153", "DSF192", "DSF208", "DSF320", "DSF357", "DSF376",
    "DSF501", "DSF502", "DSF503",
}  # fmt: skip
"""Codes without examples, each with a reason in its source."""
PLACES = {
    "DSF002": "config/masks.yaml:6:1",
    "DSF003": "clusters/edge.yaml:5:23",
    "DSF005": "clusters/cologne.yaml:1:25",
    "DSF006": "scorers/cpu.yaml:21:36",
    "DSF007": "scorers/cpu.yaml:19:46",
    "DSF008": "clusters/fleet.yaml:1:1",
    "DSF009": "clusters/second.yaml:1:1",
    "DSF010": "gitops-dsf.yaml:1:1",
    "DSF011": "clusters/second.yaml:1:1",
    "DSF019": "clusters/edge.yaml:5:12",
    "DSF020": "scorers/cpu.yaml:8:19",
    "DSF021": "scorer:1:1",
    "DSF030": "scorers/cpu.yaml:1020:1",
    "DSF035": "clusters/prod.yaml:1:1",
    "DSF036": "gitops-dsf.yaml:1:1",
    "DSF037": "clusters/prod.yaml:1:1",
    "DSF038": "apps/web.yaml:4:9",
    "DSF039": "gitops-dsf.yaml:7:10",
    "DSF040": "scorers/cpu.yaml:4:9",
    "DSF153": "gitops-dsf.yaml:4:9",
    "DSF175": "gitops-dsf.yaml:7:10",
    "DSF176": "scorers/cpu.yaml:19:11",
    "DSF341": "apps/web.yaml:10:27",
    "DSF501": "scorers/cpu.yaml:4:9",
    "DSF502": "gitops-dsf.yaml:11:20",
    "DSF503": "apps/web.yaml:12:5",
}
"""Where the findings are that tests/golden/findings.txt does not have. Those about a whole file or
the whole repository are at its first character.
"""

LINE = re.compile(r"^(\S+:\d+:\d+): (?:error|warning|notice) (DSF\d{3}): ", re.MULTILINE)
CLUSTER = (
    "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
    "metadata: {{name: more-{}}}\n"
)
ARGUMENTS = "# scorers/cpu.yaml\nspec:\n  scoring:\n    arguments: "


def shell(command: str) -> Callable[[Path], None]:
    """The base repository after a command."""

    def run(root: Path) -> None:
        (root.parent / "elsewhere").mkdir(exist_ok=True)
        (root.parent / "elsewhere" / "clusters.yaml").write_text("{}")
        write(root, "")
        subprocess.run(["bash", "-c", command], cwd=root, check=True)

    return run


def example(text: str) -> Callable[[Path], None]:
    return lambda root: write(root, text)


def large_hub_configuration(root: Path) -> None:
    write(root, f"{CODES['DSF152'].good}\n    arguments: {{text: {'x' * 1_050_000}}}\n")


def full_shard(root: Path) -> None:
    git = 'git: {url: "https://git.example.com/team/fleet.git"}'
    write(root, f"# gitops-dsf.yaml\nspec:\n  {git}\n  output: {{shards: 1}}\n")
    (root / "clusters" / "more.yaml").write_text(
        "---\n".join(CLUSTER.format(number) for number in range(501))
    )


def large_set(root: Path) -> None:
    """The longer the labels, the fewer clusters are needed."""
    names = [f"label{number}" for number in range(12)]
    path = "/".join(f"{{{{ .labels.{name} }}}}" for name in names)
    written = ", ".join(f"{name}: {'x' * 63}" for name in names)
    clusters = "".join(
        f"# clusters/{name}.yaml\nmetadata:\n  labels: {{{written}}}\n" for name in ("prod", "edge")
    )
    write(root, f"{CODES['DSF358'].good.replace('{{ .labels.env }}', path)}\n{clusters}")
    (root / "clusters" / "more.yaml").write_text(
        "---\n".join(CLUSTER.format(f"{number}, labels: {{{written}}}") for number in range(1_000))
    )


BUILDERS: dict[str, Callable[[Path], None]] = {
    "DSF005": shell(r"printf 'kind: ManagedCluster # K\xf6ln\n' > clusters/cologne.yaml"),
    "DSF008": shell("yes '# padding' | head -c 9000000 > clusters/fleet.yaml"),
    "DSF009": shell("ln -s ../../elsewhere/clusters.yaml clusters/second.yaml"),
    "DSF010": lambda _root: None,
    "DSF030": shell('for n in $(seq 1001); do echo "f$n: 1"; done >> scorers/cpu.yaml'),
    "DSF035": shell("git init --quiet && git add --all && rm clusters/prod.yaml"),
    "DSF036": shell("echo 'gitdir: /nonexistent' > .git"),
    "DSF037": shell("echo 'version https://git-lfs.github.com/spec/v1' > clusters/prod.yaml"),
    "DSF039": shell(
        "git init --quiet .. && git -C .. remote add origin https://git.example.com/team/fleet.git"
    ),
    "DSF040": example(f"{ARGUMENTS}{{text: {'x' * 520_000}}}\n"),
    "DSF153": large_hub_configuration,
    "DSF501": example(f"{ARGUMENTS}{{text: {'x' * 520_000}}}\n"),
    "DSF502": full_shard,
    "DSF503": large_set,
}

ONLY_IN_GOLDEN = {
    "an_order_fits_its_annotation",
    "application_sets_live_with_argocd", "applications_live_with_argocd",
    "argocd_takes_the_fields", "checks_are_listed_once", "checks_are_measured_everywhere",
    "checks_can_pass_and_fail",
    "decisions_fit_one_object", "every_cluster_has_a_place", "headers_hold_no_secrets",
    "hub_can_take_the_writes", "inventory_fields_exist", "its_applications_exist",
    "labels_are_valid", "metadata_is_accepted", "missing_external_scores_lose",
    "paces_count", "pages_get_no_secret_of_others",
    "pages_get_what_they_may", "parameters_hold_no_secrets", "receivers_need_no_more",
    "remote_write_finds_clusters", "remote_write_gets_what_it_may",
    "rendered_objects_differ", "repositories_hold_no_credentials",
    "service_monitors_find_clusters", "sets_of_bindings_exist", "settings_fit_where_it_runs",
    "scores_of_add_ons_are_those_that_rank", "something_ranks", "sources_are_complete",
    "the_inventory_has_clusters",
    "the_score_of_moves_is_ours", "the_store_gets_what_it_may", "windows_are_bounded",
}  # fmt: skip
"""Rules that no example shows: another rule has the example of their code, or it has none.

The cases of tests/golden show them.
"""

Printed = Callable[[Callable[[Path], None]], list[tuple[str, str]]]


@pytest.fixture
def printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Printed:
    """Code and place of each finding, from the terminal's text."""

    def run(build: Callable[[Path], None]) -> list[tuple[str, str]]:
        (tmp_path / "fleet").mkdir()
        build(tmp_path / "fleet")
        monkeypatch.chdir(tmp_path / "fleet")
        main(["validate"])
        return [(code, place) for place, code in LINE.findall(capsys.readouterr().out)]

    return run


def test_the_page_is_what_the_codes_say() -> None:
    assert (ROOT / PAGE).read_text("utf-8") == page(), "run `make schemas`"


def test_every_code_has_a_name_and_a_number_of_its_own_in_a_module_that_is_listed() -> None:
    """Otherwise a code would be missing: of two with one name or number the package keeps one, and
    it has none of a module that it does not import.
    """
    listed = []
    for module in pkgutil.iter_modules(codes.__path__, f"{codes.__name__}."):
        own = codes_by_name(vars(import_module(module.name)))
        assert own == sorted(own), f"the codes of {module.name} are out of order"
        assert re.search(rf"\b{module.name.rpartition('.')[2]}\b", codes.__doc__ or "")
        listed += own
    assert sorted(listed) == sorted(codes_by_name(vars(codes)))
    assert sorted(number for number, _ in listed) == list(CODES)
    assert RETIRED.isdisjoint(CODES)


def codes_by_name(names: Mapping[str, object]) -> list[tuple[str, str]]:
    return [(code.id, name) for name, code in names.items() if isinstance(code, FindingCode)]


def test_a_code_is_explained_and_shown() -> None:
    for code in CODES.values():
        assert code.explanation.endswith((".", ")", "?")), (code.id, code.explanation)
        assert len(code.explanation.split()) >= 12, code.id
        assert "```" not in code.explanation, code.id
        assert bool(code.bad) == bool(code.good) != bool(code.unshown), code.id
        assert code.bad != code.good or not code.bad, code.id


def test_the_codes_without_examples_are_these() -> None:
    assert {code.id for code in CODES.values() if code.unshown} == UNSHOWN


def test_every_code_is_found_somewhere() -> None:
    golden = re.findall(
        r"^(DSF\d{3}) ", (ROOT / "tests/golden/findings.txt").read_text("utf-8"), re.MULTILINE
    )
    assert {*golden, *PLACES, *(code.id for code in SHOWN)} == set(CODES)


@pytest.mark.parametrize("code", PLACES)
def test_a_code_is_printed_at_its_line_and_column(code: str, printed: Printed) -> None:
    found = printed(BUILDERS.get(code) or example(CODES[code].bad))
    assert [place for name, place in found if name == code][:1] == [PLACES[code]]


def test_the_base_repository_has_no_findings(tmp_path: Path) -> None:
    write(tmp_path, "")
    checked = check(tmp_path)
    assert checked.diagnostics == ()
    assert checked.fleet is not None


def test_the_bad_example_of_a_code_has_its_finding_and_each_rule_is_shown_by_one(
    tmp_path: Path,
) -> None:
    """So whoever removes a rule breaks an example, but for those of ONLY_IN_GOLDEN."""
    silent, shown = [], set[str]()
    for code in SHOWN:
        root = tmp_path / code.id
        write(root, code.bad)
        declared = declare(load(root))
        context = context_of(declared)
        rules_of_code = {
            rule.name
            for rule in applicable(context)
            if code.id in {finding.code for finding in rule(context)}
        }
        shown |= rules_of_code
        # Codes of files and of sizes have no rule.
        if not rules_of_code and code.id not in {
            finding.code for finding in check_declared(declared).diagnostics
        }:
            silent.append(code.id)
    assert silent == []
    assert {rule.name for rule in RULES} - shown == ONLY_IN_GOLDEN


def test_the_good_example_of_a_code_has_no_findings(tmp_path: Path) -> None:
    found = []
    for code in SHOWN:
        root = tmp_path / code.id
        write(root, code.good)
        found += [
            (code.id, finding.code, str(finding.position), finding.message)
            for finding in check(root).diagnostics
        ]
    assert found == []
