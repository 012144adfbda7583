"""Go templates that Argo CD runs, with what they give, and templates that it cannot run.

For tests without Argo CD, and with it.
"""

from typing import Any, Final

PARAMETERS: Final[dict[str, Any]] = {
    "app": {"path": {"segments": ["apps", "web"], "basenameNormalized": "web"}},
    "bucket": "",
    "files": ["a.yaml", "b.yaml"],
    "labels": {"env": "prod", "region": "eu"},
    "metadata": {"labels": {"region": "EU"}},
    "count": 3,
    "items": [{"n": "x"}, {"n": "y"}],
    "version": "1.4.2",
    "name": "east",
}
"""What a generator of a hand-written ApplicationSet gives."""
RUNS: Final[tuple[tuple[str, str], ...]] = (
    ("{{index .app.path.segments 1}}", "web"),
    ('{{ .bucket | default "none" | lower }}', "none"),
    ("{{ default 5 .bucket | toString | upper }}", "5"),
    ("{{ range .files }}{{ . }},{{ end }}", "a.yaml,b.yaml,"),
    ("{{- range $i, $v := .files }}{{ $i }}{{ $v | trim }}{{- end }}", "0a.yaml1b.yaml"),
    (
        "{{ range $k, $v := .labels }}{{ $k }}:{{ $v | quote }};{{ else }}none{{ end }}",
        'env:"prod";region:"eu";',
    ),
    (
        '{{ range .items }}{{ if eq .n "x" }}{{ continue }}{{ end }}{{ .n }}{{ break }}{{ end }}',
        "y",
    ),
    ("{{ with .metadata }}{{ .labels.region | lower }}{{ else }}none{{ end }}", "eu"),
    ("{{ with $x := .bucket }}{{ $x }}{{ else with .name }}{{ . }}{{ end }}", "east"),
    ("{{ $f := false }}{{ range .items }}{{ $f = true }}{{ end }}{{ if $f }}a{{ end }}", "a"),
    ("{{ .labels | toYaml | nindent 2 }}", "\n  env: prod\n  region: eu"),
    ("{{ .labels | toJson | sha256sum | trunc 8 }}", "49d63cc2"),
    ('{{ dig "a" "b" "none" . }}', "none"),
    ('{{ list 1 2 | join "," }}{{ (index .items 0).n }}', "1,2x"),
    ("{{ .count | int | add 1 | mul 2 }}", "8"),
    ("{{ 0x1f }}{{ 1.5 }}{{ 'a' }}{{ 1e3 }}{{ eq .name nil }}", "311.5971000false"),
    ("{{ regexReplaceAll `^1` .version `2` }}{{ semverCompare `>=1.2` .version }}", "2.4.2true"),
    ('{{ repeat 3 "x" }}{{ printf "%05d" 7 }}{{ range until 3 }}y{{ end }}', "xxx00007yyy"),
    ("{{ range 2 }}z{{ end }}{{ seq 1 3 }}", "zz1 2 3"),
    ("{{ $a := .name }}{{ if .bucket }}{{ $a = .version }}{{ end }}{{ $a }}", "east"),
    ('{{ .bucket | lower | trim | default "eu" }}', "eu"),
    ('{{ index .labels "env" }}{{ (.app).path.segments | last }}', "prodweb"),
)
"""Templates, with the text that each becomes."""
FAILS: Final[tuple[str, ...]] = (
    "{{ default 'none' .name }}",
    "{{ trunc 5x .name }}",
    "{{ trunc 089 .name }}",
    "{{ nil }}",
    "{{ break }}",
    "{{ range .files }}{{ end }}{{ continue }}",
    "{{ $a, $b := .name }}",
    "{{ $x = .name }}",
    "{{ with .name }}{{ $x := . }}{{ end }}{{ $x }}",
    "{{ range .files }}x",
    '{{ range "abc" }}x{{ end }}',
    "{{ range .files }}x{{ else if .name }}y{{ end }}",
    '{{ with "a" }}{{ .b }}{{ end }}',
    "{{ lower }}",
    "{{ lower 3 }}",
    '{{ trunc "3" .name }}',
    "{{ repeat 3 }}",
    "{{ until `3` }}",
    "{{ indent .name 3 }}",
    "{{ eq .name 3 }}",
    "{{ .name.short }}",
    "{{ .name .version }}",
    "{{ .name | foo }}",
    "{{ regexMatch `a` }}",
    "{{ ternary 1 2 3 }}",
    "{{ slugify `a` true .name }}",
)
"""Templates that Argo CD cannot parse or run, whatever texts `name` and `version` are."""
