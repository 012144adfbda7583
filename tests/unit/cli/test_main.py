"""The command line: exit codes, help, and what happens to bugs and interruptions."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gitops_dsf import __version__
from gitops_dsf.cli.main import VERBS, main
from gitops_dsf.cli.scaffold import scaffold
from tests.support.commandline import output_of, program


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"gitops-dsf {__version__}\n"


def test_without_a_verb_the_help_teaches_and_the_usage_is_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([]) == 2
    out = capsys.readouterr().out
    assert all(name in out for name in VERBS)
    assert "A first session" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["validate", "-", "b"], ""),
        (["validate", "-o", "xml"], ""),
        (["validate", "-", "--fix"], ""),
        (["validate", "/nowhere"], "is not a folder"),
        (["valdate"], "there is no verb valdate; did you mean validate?"),
        (["bogus"], "there is no verb bogus; the verbs are init, validate, "),
        ([""], "there is no verb ''; the verbs are "),
        (
            ["validate", "--outptu", "json"],
            "validate has no option --outptu; did you mean --output?",
        ),
        (["--verison"], "gitops-dsf has no option --verison; did you mean --version?"),
        (
            ["scorer", "check", "http://a", "--tokn-file=x"],
            "no option --tokn-file; did you mean --token-file?",
        ),
        (
            ["render", "--zzzzzzzz"],
            "has no option --zzzzzzzz; `gitops-dsf render --help` lists them",
        ),
        (["render", "one", "two"], "gitops-dsf render takes no more arguments, and two is one"),
        (["-o", "json", "init", "x"], "gitops-dsf init has no option -o"),
        (["-o", "json", "valdate"], "there is no verb valdate; did you mean validate?"),
        # It is an option of the program, not of the verb.
        (["render", "--version"], "has no option --version; `gitops-dsf render --help` lists them"),
        (["--zzz", "validate"], "has no option --zzz"),
        (["-o", "json", "scorer", "chek", "http://a"], "invalid choice: 'chek'"),
        (["backtest", "--history", "x", "--journal", "x"], "write --advise, too"),
    ],
)
def test_wrong_usage_is_2_and_names_the_nearest_word(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err


HELP_OF_ALL = """
import contextlib, io, json, sys
from gitops_dsf.cli.main import VERBS, main
pages = {}
for verb in VERBS:
    with contextlib.redirect_stdout(io.StringIO()) as page:
        main([verb, "--help"])
    pages[verb] = page.getvalue()
print(json.dumps({"pages": pages, "heavy": sorted({"pydantic", "yaml", "httpx"} & {*sys.modules})}))
"""


def test_help_of_a_verb_teaches_and_has_no_heavy_imports() -> None:
    told = json.loads(output_of(sys.executable, "-c", HELP_OF_ALL))
    assert told["pages"].keys() == VERBS.keys()
    for verb, page in told["pages"].items():
        assert f"gitops-dsf {verb}" in page.partition("options:")[2], (
            f"{verb}: an example of what to type"
        )
        assert "exit codes: 0 " in page.lower(), verb
    assert told["heavy"] == []


LIGHT = """
import gc, sys
from gitops_dsf.cli.main import main
class Freed:
    def __del__(self): print("freed at the end")
freed = Freed()
fleet, history = sys.argv[1:]
span = ["--from", "2026-07-01T00:00:00Z", "--to", "2026-07-01T01:00:00Z"]
codes = [main(["validate", fleet])]
needless = {"gitops_dsf.render.tree", "gitops_dsf.schema", "ruamel.yaml"} & {*sys.modules}
sys.argv[1:] = ["backtest", fleet, "--history", history, *span]
codes += [main()]
needless |= {"gitops_dsf.views.preview.build", "cel_expr_python", "httpx"} & {*sys.modules}
print(codes, sorted(needless), "searching" if gc.isenabled() else "quiet")
"""


def test_validate_and_backtest_import_and_end_without_needless_work(tmp_path: Path) -> None:
    """What renders, edits and previews, and the CEL engine take 60 ms, and the end of the
    interpreter 90 ms.
    """
    scaffold(target=tmp_path / "fleet", name="fleet", extras=("examples",))
    labels = {"ds_score_name": "cpu-headroom", "ds_cluster": "eu-north-1"}
    rows = [{"metric": labels, "values": [[1_782_864_000, "50"]]}]
    answer = {"status": "success", "data": {"resultType": "matrix", "result": rows}}
    (tmp_path / "history.json").write_text(json.dumps(answer))
    said = output_of(sys.executable, "-c", LIGHT, tmp_path / "fleet", tmp_path / "history.json")
    assert said.splitlines()[-1:] == ["[0, 0] [] quiet"]


WITHOUT_DISTRIBUTIONS = """
import importlib.metadata, sys
from gitops_dsf.cli.main import main
# pydantic calls it to look for plug-ins.
importlib.metadata.distributions = None
sys.argv = ["gitops-dsf", "validate", sys.argv[1]]
main()
"""


def test_a_command_looks_for_no_plugins_of_pydantic(tmp_path: Path) -> None:
    scaffold(target=tmp_path / "fleet", name="fleet")
    said = output_of(sys.executable, "-c", WITHOUT_DISTRIBUTIONS, tmp_path / "fleet")
    assert "DSF175" in said


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--help", "validate"], ["--debug", "--help", "render"]]
)
def test_help_before_a_verb_lists_all_verbs(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    listed = capsys.readouterr().out
    assert [verb for verb in VERBS if f"\n  {verb} " not in listed] == []


STANDS_IN = """
import sys
from gitops_dsf.cli import main
main.VERBS["zz"] = main.Verb(name="zz", help="stands in", add_arguments=bool, module="{module}")
sys.exit(main.main(sys.argv[1:]))
"""


def test_a_bug_is_a_short_report_and_a_traceback_only_on_demand(tmp_path: Path) -> None:
    """A stand-in verb that fails as a bug would: the table of verbs is data."""
    (tmp_path / "broken_verb.py").write_text("def run(args): return 1 // 0\n")
    run = [sys.executable, "-c", STANDS_IN.format(module="broken_verb"), "zz"]
    result = program(*run, cwd=tmp_path)
    assert result.returncode == 3
    assert "Traceback" not in result.stderr
    assert "ZeroDivisionError" in result.stderr
    assert "Please report it" in result.stderr
    assert "https://" not in result.stderr, "no forge has the project yet"
    assert "Traceback" in program(*run, "--debug", cwd=tmp_path).stderr


def test_a_bug_report_shows_no_secret_of_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_args: object) -> int:
        raise RuntimeError

    monkeypatch.setattr("gitops_dsf.cli.backtest.run", fails)
    store = "https://me:pa55word@prometheus.example.com/x"
    headers = ("--header", "X-Key:s3cret", "--header=X-Other:s3cret")
    assert main(["backtest", "fleet", "--prometheus", store, *headers]) == 3
    told = capsys.readouterr().err
    assert (
        "--prometheus https://prometheus.example.com/x --header X-Key:(hidden)"
        " --header=X-Other:(hidden)"
    ) in told
    assert "pa55word" not in told
    assert "s3cret" not in told


def test_an_interruption_is_130(tmp_path: Path) -> None:
    (tmp_path / "slow_verb.py").write_text(
        "import time\ndef run(args):\n print('up', flush=True)\n time.sleep(60)\n"
    )
    # A shell's background jobs inherit an ignored SIGINT; the program as people start it does not.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += STANDS_IN.format(module="slow_verb")
    with subprocess.Popen(
        [sys.executable, "-c", code, "zz"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        time.sleep(0.1)
        process.send_signal(2)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err


STYLES = ("text", "json", "github", "sarif")
ALL_STYLES = f"""
import sys
from gitops_dsf.cli.main import main
for style in {STYLES}:
    if main(["validate", "-o", style, sys.argv[1]]) != 1: sys.exit(style)
"""


def test_output_is_utf8_in_any_locale_and_for_any_file_name(tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    for name in ("ä.yaml".encode(), b"\xff.yaml"):
        Path(os.fsdecode(os.fsencode(tmp_path / "clusters") + b"/" + name)).write_text(
            "apiVersion: v1\nkind: Köln\n", encoding="utf-8"
        )
    environment = {
        **os.environ,
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONIOENCODING": "ascii",
    }
    said = output_of(sys.executable, "-c", ALL_STYLES, tmp_path, environ=environment)
    assert said.count("Köln") >= len(STYLES)


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path, warm_programs: Path) -> None:
    (tmp_path / "clusters").mkdir()
    (tmp_path / "clusters" / "bad.yaml").write_text(
        "---\n".join(f"kind: K{number}\napiVersion: v1\n" for number in range(3000))
    )
    result = program("bash", "-c", f"{warm_programs}/gitops-dsf validate {tmp_path} | head -1")
    assert result.stdout.count("\n") == 1
    assert "Traceback" not in result.stderr
    assert "BrokenPipe" not in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["validate", "-o", "sarif"], ["--completion", "bash"]])
def test_a_full_disk_behind_standard_output_is_no_bug(
    arguments: list[str], tmp_path: Path, warm_programs: Path
) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [warm_programs / "gitops-dsf", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=tmp_path,
        )
    assert done.returncode == 1
    assert "cannot write: No space left on device" in done.stderr
    assert "bug" not in done.stderr
    assert "Traceback" not in done.stderr


IN_NO_FOLDER = """
from gitops_dsf.cli.main import main
for arguments in (["validate"], ["render"], ["import", "--from", "-"]):
    print(main(arguments))
"""


def test_a_working_directory_that_was_deleted_is_no_bug(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"rmdir '{gone}' && exec '{sys.executable}' -P -c '{IN_NO_FOLDER}'"
    done = program("sh", "-c", command, cwd=gone)
    codes = [line for line in done.stdout.splitlines() if line.isdigit()]
    assert len(codes) == 3, done.stderr
    assert set(codes) <= {"1", "2"}, done.stderr
    assert "bug" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "before",
    [
        ["-o", "json"],
        ["-ojson"],
        ["--output", "json"],
        ["--output=json"],
        ["--debug", "-o", "json"],
    ],
)
def test_the_format_can_be_named_before_the_verb(
    before: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gitops-dsf.yaml").write_text("kind: [")
    assert main([*before, "validate", str(tmp_path)]) == 1
    assert [item["code"] for item in json.loads(capsys.readouterr().out)] == ["DSF001"]


INTERRUPTED = """
import sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == {name!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
sys.argv = ["gitops-dsf", "validate"]
from importlib.metadata import entry_points
[program] = entry_points(group="console_scripts", name="gitops-dsf")
sys.exit(program.load()())
"""


@pytest.mark.parametrize(
    "name", ["gitops_dsf.cli.main", "argparse", "gitops_dsf.cli.validate", "pydantic"]
)
def test_an_interrupt_while_modules_are_read_is_no_traceback(name: str) -> None:
    done = program(sys.executable, "-c", INTERRUPTED.format(name=name))
    assert (done.returncode, done.stderr) == (130, "gitops-dsf: interrupted\n")
