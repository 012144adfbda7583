"""What the parser and the checks of Go templates say, where, and that plain templates pass."""

import pytest

from gitops_dsf.argocd.fasttemplate import unresolved
from gitops_dsf.argocd.gotemplate import TemplateError, Trouble, Value, check, parse, reads
from gitops_dsf.resolve.template_parameters import DECIDED, GIVEN
from tests.support import gotemplates

MAX_CHARACTERS = 1 << 20
MAX_DEPTH = 60

VALUES = {**DECIDED, "values": {"tier": Value("text", 4), "my-tier": Value("text", 4)}}


@pytest.mark.parametrize(
    "text",
    [
        "overlays/{{.name}}",
        "{{ .name }}-{{ .clusterName }}-{{ .server }}-{{ .reason }}",
        "{{- .name -}}",
        "{{/* a comment */}}{{- /* another */ -}}",
        "}} and { and {",
        "{{ .name | lower | trunc 20 | trimPrefix `a` }}",
        '{{ replace "." "-" .name }}',
        "{{ normalize .name }}{{ slugify 23 true .name }}",
        '{{ if eq .name "eu-1" "eu-2" }}a{{ else if hasPrefix "us-" .name }}b{{ else }}c{{ end }}',
        '{{ if and (ne .name "a") (not (contains "x" .server)) }}a{{ end }}',
        "{{ $short := trunc 5 .name }}{{ $short }}-{{ $.name }}",
        '{{ default "none" .reason | quote }}',
        '{{ printf "%s-%s" .name .clusterName | sha256sum }}',
        '{{ or .reason .absent "x" }}',
        "{{ .values.tier }}{{ index .values `my-tier` }}",
        '{{ "{{" }} .Values.x {{ "}}" }}{{`{{ .Release.Name }}`}}',
        "{{ .name\n}}",
        "{{ 5 }}{{ true }}{{ `a` }}",
    ],
)
def test_a_plain_template_has_no_finding(text: str) -> None:
    assert check(text, VALUES) == ()


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("a/{{.name", 2, "the action has no end"),
        ("{{/* .name }}", 0, "the comment has no end"),
        ("{{/* a */ .name }}", 9, "something stands between the comment and }}"),
        ("{{name}}", 2, "there is no function name"),
        ("{{.name | foo}}", 10, "there is no function foo"),
        ('{{ "a }}', 3, '" has no second one'),
        ('{{ "a\nb" }}', 3, '" has no second one'),
        ("{{ $x }}", 3, "there is no variable $x"),
        ("{{ $x := lower $x }}", 15, "$x has no value yet"),
        ("{{ b64enc .name (or .name .absent) }}", 3, "b64enc takes 1 argument, and has 2 here"),
        ("{{ if .name }}a", 3, "{{ if }} has no {{ end }}"),
        ("{{ end }}", 3, "{{ end }} belongs to nothing"),
        ("{{ (lower .name }}", 16, "( has no )"),
        ("{{ lower .name) }}", 14, ") has no ("),
        ("{{ }}", 0, "the action has no value"),
        ("{{ .my-key }}", 6, "'-' cannot follow .my"),
        ("{{ .name!x }}", 8, "'!' cannot follow .name"),
        ("{{ .name | 3 }}", 11, "a value cannot stand behind |"),
        ("{{ lower }}", 3, "lower takes 1 argument, and has 0 here"),
        ("{{ trunc 3 .name 4 }}", 3, "trunc takes 2 arguments, and has 3 here"),
        ('{{ trunc "3" .name }}', 9, "trunc takes a whole number here"),
        ("{{ lower 3 }}", 9, "lower takes a text here"),
        ("{{ eq .name 3 }}", 3, "eq compares values of different kinds"),
        ("{{ .name.short }}", 3, "a text has no field short"),
        ("{{ .name .server }}", 3, "a value takes no arguments"),
        (r'{{ "\q" }}', 3, r"\ is not an escape sequence"),
        ("{{ env `HOME` }}", 3, "there is no function env"),
    ],
)
def test_what_argocd_cannot_run_is_told_where_it_is(text: str, offset: int, message: str) -> None:
    [found] = check(text, DECIDED)
    assert (found.trouble, found.offset, found.message) == (Trouble.FAILS, offset, message)


@pytest.mark.parametrize(
    ("text", "offset", "name"),
    [
        ("{{.cluster.name}}", 2, ".cluster"),
        ("a{{ lower .Name }}", 10, ".Name"),
        ("{{ .values.tier }}", 3, ".values"),
        ("{{ $.region }}", 3, ".region"),
        ('{{ if eq .name "a" }}{{ .region }}{{ end }}', 24, ".region"),
        ("{{ if .region }}{{ .name }}{{ end }}", 6, ".region"),
        ("{{ and .name .region }}", 13, ".region"),
        ("{{ index . `region` }}", 9, ".region"),
    ],
)
def test_a_parameter_that_is_not_there_is_told(text: str, offset: int, name: str) -> None:
    [found] = check(text, DECIDED)
    assert (found.trouble, found.offset, found.name) == (Trouble.PARAMETER, offset, name)
    assert ".name" in found.known


def test_values_of_the_generator_are_known_by_name() -> None:
    [found] = check("{{ .values.team }}", VALUES)
    assert found.known == (".values.tier", ".values.my-tier")


@pytest.mark.parametrize(
    "text",
    [
        '{{ repeat 400000000 "x" }}',
        '{{ "x" | repeat 1000 | repeat 1000 | repeat 1000 }}',
        '{{ repeat (400000000) "x" }}',
        '{{ tpl "{{ repeat 400000000 .name }}" . }}',
        '{{ printf "%1000000d" 1 }}',
        '{{ printf "%.1000000s" .name }}',
        "{{ range $i := until 100000000 }}x{{ end }}",
        (
            "{{ range until 1000 }}{{ range until 1000 }}{{ range until 1000 }}x{{ end }}{{"
            " end }}{{ end }}"
        ),
        "{{ range 400000000 }}x{{ end }}",
        "{{ untilStep 0 400000000 1 | toJson }}",
        "{{ untilStep -400000000 0 1 | toJson }}",
        "{{ seq 1 400000000 }}",
        "{{ indent 400000000 .name }}",
        "{{ nindent 400000000 .name }}",
        "{{ randAlphaNum 400000000 }}",
        "{{ genPrivateKey `rsa` }}",
        "{{ htpasswd .name .name }}",
        '{{ range until 1000 }}{{ $x := repeat 2000 "x" }}{{ end }}',
        "{{ $a := print .name .name }}"
        + "".join("{{ $a := print $a $a $a $a }}" for _ in range(9))
        + "{{ $a }}",
    ],
)
def test_what_could_fill_the_memory_is_told(text: str) -> None:
    assert {found.trouble for found in check(text, VALUES)} & {Trouble.COST, Trouble.DIFFERS} >= {
        Trouble.COST
    }


@pytest.mark.parametrize(
    "text",
    [
        '{{ repeat 3 "x" }}{{ repeat 20 .name }}',
        '{{ printf "%05d-%-20s" 7 .name }}',
        "{{ range $i := until 100 }}x{{ $i }}{{ end }}",
        "{{ range $i, $v := untilStep 0 50 5 }}{{ $v }}{{ end }}",
        "{{ seq 1 10 }}{{ range 5 }}x{{ end }}",
        "{{ .name | toJson | indent 12 }}" * 200,
        "{{ print .server .server }}" * 100,
        "{{ . | toYaml | nindent 40 }}",
        '{{ $line := repeat 2000 "-" }}{{ range until 100 }}{{ $.name | indent 8 }}{{ end }}',
        (
            '{{ replace "." "-dot-" .name | replace "a" "bbbb" | replace "c" "dddd" | replace'
            ' "e" "ffff" }}'
        ),
    ],
)
def test_small_numbers_are_no_trouble(text: str) -> None:
    assert check(text, VALUES) == ()


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("{{ until (int .count) | toJson }}", 3),
        ('{{ repeat (len .name) "x" }}', 3),
        ('{{ printf "%*d" .count 1 }}', 3),
        ("{{ define `t` }}{{ template `t` }}{{ end }}{{ template `t` }}", 3),
        ("{{ if .a }}{{ template `t` }}{{ end }}", 14),
    ],
)
def test_what_nobody_can_tell_is_no_error(text: str, offset: int) -> None:
    assert [(found.trouble, found.offset) for found in check(text, None)] == [
        (Trouble.UNSURE, offset)
    ]


@pytest.mark.parametrize("text", [text for text, _ in gotemplates.RUNS])
def test_what_argocd_runs_has_no_finding(text: str) -> None:
    """tests/hub/test_argocd_agrees.py lets Argo CD run them."""
    assert check(text, None) == ()


@pytest.mark.parametrize("text", gotemplates.FAILS)
def test_what_argocd_cannot_run_has_a_finding(text: str) -> None:
    """tests/hub/test_argocd_agrees.py lets Argo CD try them."""
    texts = {"name": Value("text", 63), "version": Value("text", 9), "files": Value("any", 9)}
    assert [found.trouble for found in check(text, texts)] == [Trouble.FAILS]


@pytest.mark.parametrize("text", ["{{ randAlphaNum 5 }}", "{{ uuidv4 }}", "{{ now | unixEpoch }}"])
def test_what_differs_at_every_look_is_told(text: str) -> None:
    assert [(found.trouble, found.offset) for found in check(text, None)] == [(Trouble.DIFFERS, 3)]


@pytest.mark.parametrize(
    "text",
    [
        "{{index .app.path.segments 1}}",
        '{{ .bucket | default "none" | lower }}',
        "{{ default 5 .bucket | upper }}",
        "{{ range .valueFiles }}{{ . }}{{ end }}",
        "{{- range $i, $value := .valueFiles }}\n- {{ $value | trim }}{{- end }}",
        "{{ range $k, $v := .labels }}{{ $k }}: {{ $v | quote }}{{ else }}none{{ end }}",
        "{{ range .a }}{{ if .b }}{{ continue }}{{ end }}{{ break }}{{ end }}",
        "{{ with .metadata }}{{ .labels.region | lower }}{{ else }}none{{ end }}",
        "{{ with $x := .a }}{{ $x.b }}{{ else with .c }}{{ .d }}{{ end }}",
        "{{ $found := false }}{{ range .a }}{{ $found = true }}{{ end }}{{ if $found }}a{{ end }}",
        (
            '{{ .values | toYaml | nindent 8 }}{{ dig "a" "b" "none" . }}{{ . | toJson |'
            " sha256sum | trunc 8 }}"
        ),
        '{{ dict "a" .b | toJson }}{{ list 1 2 | join "," }}{{ (index .a 0).b }}',
        '{{ (splitList "/" .p) | last }}',
        "{{ .a | int | add 1 | mul 2 }}{{ 0x1f }}{{ 1.5 }}{{ 'a' }}{{ 1e3 }}{{ eq .a nil }}",
        "{{ regexReplaceAll `^v` .a `` }}{{ semverCompare `>=1.2` .v }}{{ hasKey . `a` }}",
        "{{ normalize .path.basenameNormalized }}{{ .number }}-{{ .branch_slug | substr 0 20 }}",
        "{{ $a := .x }}{{ if .y }}{{ $a = .z }}{{ end }}{{ $a.b }}",
    ],
)
def test_what_argocd_runs_is_no_trouble(text: str) -> None:
    assert check(text, None) == ()


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("{{ default 'none' .x }}", 11, "'none' is not a number"),
        ("{{ trunc 5x .name }}", 9, "5x is not a number"),
        ("{{ trunc 089 .name }}", 9, "089 is not a number"),
        ("{{ nil }}", 3, "nil is not a value"),
        ("{{ break }}", 3, "break is outside a range"),
        ("{{ range .a }}{{ end }}{{ continue }}", 26, "continue is outside a range"),
        ("{{ $a, $b := .x }}", 5, ", does not fit here"),
        ("{{ $x = .a }}", 3, "there is no variable $x"),
        ("{{ with .a }}{{ $x := .b }}{{ end }}{{ $x }}", 39, "there is no variable $x"),
        ("{{ range .a }}x", 3, "{{ range }} has no {{ end }}"),
        ('{{ range "abc" }}x{{ end }}', 9, "range cannot go through a text"),
        ("{{ range .a }}x{{ else if .b }}y{{ end }}", 23, "if cannot follow else"),
        ('{{ with "a" }}{{ .b }}{{ end }}', 17, "a text has no field b"),
    ],
)
def test_what_go_cannot_run_of_loops_and_numbers(text: str, offset: int, message: str) -> None:
    assert [(found.trouble, found.offset, found.message) for found in check(text, None)] == [
        (Trouble.FAILS, offset, message)
    ]


def test_a_long_or_deep_template_is_told_and_a_long_text_without_actions_is_not() -> None:
    assert check("x" * MAX_CHARACTERS * 2, DECIDED) == ()
    assert [found.trouble for found in check("x" * MAX_CHARACTERS + "{{.name}}", DECIDED)] == [
        Trouble.COST
    ]
    depth = MAX_DEPTH + 1
    for text in (
        "{{ " + "(" * depth + ".name" + ")" * depth + " }}",
        "{{ if .name }}" * depth + "{{ end }}" * depth,
        "{{ if .name }}" + "{{ else if .name }}" * depth + "{{ end }}",
    ):
        assert [found.trouble for found in check(text, DECIDED)] == [Trouble.COST]
    assert check("{{.name}} " * 500, DECIDED) == ()
    assert [found.trouble for found in check("{{ print .server .server }}" * 600, DECIDED)] == [
        Trouble.COST
    ]


def test_several_actions_have_a_finding_each() -> None:
    found = check("{{ .a }}{{ .name }}{{ .b }}{{ repeat 5000 .name }}", DECIDED)
    assert [one.offset for one in found] == [3, 22, 30]


def test_a_mistake_in_what_may_not_be_run_hides_no_later_one() -> None:
    found = check("{{ or .reason (lower 3) }}{{ .region }}", DECIDED)
    assert [(one.trouble, one.offset) for one in found] == [
        (Trouble.FAILS, 21),
        (Trouble.PARAMETER, 29),
    ]


REGION = {("labels", "region")}


@pytest.mark.parametrize(
    "text",
    [
        '{{ .labels.region | default "eu" }}',
        '{{ index .labels "region" | default .name | lower }}',
        "{{ coalesce .labels.region .claims.zone }}{{ or .labels.region `eu` }}",
        "{{ if .labels.region }}{{ .labels.region }}{{ else }}eu{{ end }}",
        "{{ if not .labels.region }}eu{{ else }}{{ lower .labels.region }}{{ end }}",
        "{{ if and .name .labels.region }}{{ .labels.region }}{{ end }}",
        "{{ $r := .labels.region }}{{ if empty $r }}eu{{ else }}{{ $r }}{{ end }}",
        (
            '{{ eq .labels.region "eu" | ternary "a" "b" }}{{ if hasPrefix "e" .labels.region'
            " }}c{{ end }}"
        ),
        "{{ .labels.env }}{{ .claims.region }}",
        '{{ .labels.region | lower | trim | default "eu" }}',
        "{{ with .labels.region }}{{ . }}{{ else }}eu{{ end }}",
    ],
)
def test_a_label_that_is_lacking_may_be_asked_for(text: str) -> None:
    assert check(text, GIVEN, REGION) == ()


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("a/{{ .labels.region }}", 5),
        ('{{ index .labels "region" }}', 9),
        ('{{ index $.labels "region" }}', 9),
        ("{{ $.labels.region | lower }}", 3),
        ("{{ $.labels.region | quote }}", 3),
        ("{{ $r := .labels.region }}{{ print .name $r }}", 9),
        ("{{ if .name }}a{{ else }}{{ .labels.region }}{{ end }}", 28),
        ("{{ if not .labels.region }}{{ .labels.region }}{{ end }}", 30),
        ("{{ default .labels.region .labels.region }}", 11),
        ('{{ ternary .labels.region "a" (eq .name "b") }}', 11),
    ],
)
def test_a_label_that_is_lacking_may_not_be_written(text: str, offset: int) -> None:
    assert check(text, GIVEN) == ()
    [found] = check(text, GIVEN, REGION)
    assert (found.trouble, found.offset, found.lacks) == (
        Trouble.LACKING,
        offset,
        ("labels", "region"),
    )


def test_what_a_template_reads_of_clusters_is_known_without_running_it() -> None:
    text = (
        '{{ if .labels.env }}{{ .claims.zone }}{{ else }}{{ index .labels "a.b/c" }}{{ end'
        " }}{{ .name }}"
    )
    assert reads(text, GIVEN) == {
        ("labels", "env"): 6,
        ("claims", "zone"): 23,
        ("labels", "a.b/c"): 57,
    }
    assert reads("{{ $l := .labels }}{{ $l.a }}", GIVEN) == {("labels", "a"): 22}


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("{{ index .labels .name }}", 3),
        ("{{ .labels }}", 3),
        ("{{ toJson .labels }}", 10),
        ("{{ range $k, $v := .claims }}{{ $k }}{{ end }}", 9),
        ("{{ with .labels }}{{ .region }}{{ end }}", 8),
        ("{{ . | toJson }}", 7),
        ("{{ define `t` }}{{ .labels.env }}{{ end }}", 3),
    ],
)
def test_labels_and_claims_are_read_by_name(text: str, offset: int) -> None:
    """Only those that a template reads by name are rendered."""
    assert [(found.trouble, found.offset) for found in check(text, GIVEN)] == [
        (Trouble.WHOLE, offset)
    ]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            "{{.labels.topology.kubernetes.io/region}}",
            'write index .labels "topology.kubernetes.io/region"',
        ),
        ("{{ .name }}{{ .claims.my-zone | lower }}", 'write index .claims "my-zone"'),
        ("{{ .my-key }}", 'a name with - in it is written index . "NAME"'),
    ],
)
def test_a_name_with_a_slash_is_told_as_it_is_written(text: str, hint: str) -> None:
    assert [found.hint for found in check(text, GIVEN)] == [hint]


def test_without_known_parameters_only_syntax_and_cost_are_told() -> None:
    assert check("{{ .metadata.labels.region | lower }}", None) == ()
    assert check("{{ repeat 5000 .x }}", None)[0].trouble is Trouble.COST
    with pytest.raises(TemplateError):
        parse("{{ .x")


def test_tags_of_the_other_language_are_parameters_or_stay() -> None:
    assert list(unresolved("{{name}} {{ values.tier }} {{server}}", VALUES)) == []
    assert list(unresolved("a {{.name}} {{region}} {{values}}", VALUES)) == [
        (2, ".name"),
        (12, "region"),
        (23, "values"),
    ]
