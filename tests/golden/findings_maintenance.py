"""Small repositories with maintenance for tests/golden/test_findings.py, by name."""

from collections.abc import Mapping
from typing import Final

from tests.support.repositories import BASE, app, beside_upstream

SETTINGS: Final = BASE["gitops-dsf.yaml"]
PACED: Final = SETTINGS.replace("spec: {", "spec: {pace: {}, ")
CLUSTERS: Final = (
    BASE["clusters/c.yaml"] + "---\n" + BASE["clusters/c.yaml"].replace("prod-1", "prod-2")
)
TONIGHT: Final = 'start: "2026-11-24T20:00:00+01:00", end: "2026-11-25T04:00:00+01:00"'


def _weekly(
    opens: str = "22:00", closes: str = "23:00", *, days: str = "Sun", zone: str = "Europe/Berlin"
) -> str:
    return f'schedule: {{days: [{days}], from: "{opens}", to: "{closes}", zone: {zone}}}'


def _work(
    window: str = TONIGHT,
    *,
    action: str = "Drain",
    what: str = "clusters: [prod-1]",
    name: str = "patch",
) -> str:
    return (
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: Maintenance\nmetadata: {name:"
        f" {name}}}\nspec:\n"
        f"  action: {action}\n  {what}\n  {window.replace(', end', chr(10) + '  end')}\n"
    )


def _case(
    *works: str, settings: str = PACED, clusters: str = CLUSTERS, count: str = "numberOfClusters: 1"
) -> dict[str, str]:
    return {
        "settings": settings,
        "clusters": clusters,
        "apps": app("[{scorer: cpu}]", "[{scorer: cpu}]").replace("numberOfClusters: 1", count),
        "config": "---\n".join(works),
    }


CASES: Final[Mapping[str, Mapping[str, str]]] = {
    "maintenance: tonight": _case(_work()),
    "maintenance: tonight, with the upstream controller": {
        **_case(
            _work(),
            settings=beside_upstream(PACED),
        ),
        "scorers": BASE["scorers/s.yaml"].replace("  scoreRange: {min: 0, max: 1}\n", ""),
    },
    "maintenance: every Sunday": _case(_work(_weekly())),
    "maintenance: unquoted times": _case(_work(TONIGHT.replace('"', ""))),
    "maintenance: an end before its start": _case(_work(TONIGHT.replace("11-25T04", "11-24T04"))),
    "maintenance: no moments": _case(
        _work(TONIGHT.replace("11-24", "13-24").replace("+01:00", "", 1))
    ),
    "maintenance: a moment of the 30th of February": _case(
        _work(TONIGHT.replace("2026-11-25", "2027-02-30"))
    ),
    "maintenance: the same time twice": _case(_work(_weekly("02:30", "02:30"))),
    "maintenance: a time that does not exist or exists twice": _case(
        _work(_weekly("02:30", "04:00")),
        _work(_weekly("01:00", "02:00", days="Sat, Sun"), what="clusters: [prod-2]", name="other"),
    ),
    "maintenance: a time that exists twice": _case(
        _work(_weekly("23:30", "01:30", days="Sat", zone="America/New_York"))
    ),
    "maintenance: on days without a change of clocks": _case(
        _work(_weekly("02:30", "04:00", days="Mon"))
    ),
    "maintenance: by UTC": _case(_work(_weekly("02:30", "04:00", zone="UTC"))),
    "maintenance: values that are not allowed": _case(
        _work(
            _weekly("2:30", "24:00", days="Sunday, Sun, Sun", zone="Europe/Berln"), action="Reboot"
        )
    ),
    "maintenance: a day twice": _case(_work(_weekly(days="Sun, Sun"))),
    "maintenance: no window": _case(
        _work("clusterSelector: {}", action="Cordon", what="clusters: [prod-1]")
    ),
    "maintenance: half of a window": _case(_work(TONIGHT.partition(", end")[0])),
    "maintenance: two windows": _case(_work(f"{TONIGHT}\n  {_weekly()}")),
    "maintenance: of nothing": _case(_work(what="clusters: []")),
    "maintenance: a drain of an application": _case(_work(what="applications: [web]")),
    "maintenance: a freeze of an application": _case(
        _work(action="Freeze", what="applications: [web]")
    ),
    "maintenance: a freeze of what is not paced": _case(
        _work(action="Freeze", what="applications: [web]"), count="clusterSets: [global]"
    ),
    "maintenance: names that do not exist": _case(
        _work(what="clusters: [prod-11, prod-1]"),
        _work(action="Freeze", what="applications: [wbe]", name="freeze"),
    ),
    "maintenance: a selector of nothing": _case(
        _work(what="clusterSelector: {matchLabels: {env: test}}")
    ),
    "maintenance: a selector that is not valid": _case(
        _work(what="clusterSelector: {matchLabels: {-: x}}")
    ),
    "maintenance: no cluster is left": _case(_work(what="clusterSelector: {}")),
    "maintenance: fewer clusters than asked for": _case(_work(), count="numberOfClusters: 2"),
    "maintenance: a freeze of all": _case(_work(action="Freeze", what="clusterSelector: {}")),
    "maintenance: without a pace": _case(
        _work(),
        _work(action="Freeze", what="applications: [web]", name="freeze"),
        settings=SETTINGS,
    ),
    "maintenance: a cordon without a pace": _case(_work(action="Cordon"), settings=SETTINGS),
    "maintenance: no reconciler": _case(
        _work(action="Cordon"),
        settings=SETTINGS.replace("reconciler: {", "reconciler: {enabled: false, "),
    ),
    "maintenance: windows that overlap": _case(
        _work(),
        _work(_weekly("19:00", "20:01", days="Tue"), action="Cordon", name="weekly"),
        _work(_weekly("18:30", "19:30", days="Tue", zone="UTC"), action="Freeze", name="z"),
    ),
    "maintenance: windows that touch": _case(
        _work(), _work(_weekly("19:00", "20:00", days="Tue"), action="Cordon", name="weekly")
    ),
    "maintenance: windows of other clusters": _case(
        _work(), _work(what="clusters: [prod-2]", name="other")
    ),
    "maintenance: two windows that together leave no cluster": _case(
        _work(), _work(what="clusters: [prod-2]", name="other", action="Cordon")
    ),
    "maintenance: two windows that leave no cluster, and do not meet": _case(
        _work(),
        _work(_weekly("18:00", "20:00", days="Tue"), what="clusters: [prod-2]", name="other"),
    ),
    "maintenance: three windows of which two leave no cluster": _case(
        _work(name="a", action="Freeze"),
        _work(_weekly("19:00", "21:00", days="Tue"), name="b"),
        _work(what="clusters: [prod-2]", name="c"),
        _work(what="clusters: [prod-2]", name="d"),
    ),
    "maintenance: more than is compared": _case(
        *(
            _work(action="Freeze", what="applications: [web]", name=f"m{number}")
            for number in range(202)
        )
    ),
    "maintenance: moments that no calendar has": _case(
        _work('start: "0001-01-01T00:00:00+14:00", end: "9999-12-31T23:59:59-14:00"'),
        _work(_weekly(), what="clusters: [prod-2]", name="other"),
    ),
    "maintenance: a night twice": _case(
        _work(name="a"), _work(what="clusterSelector: {}", name="b")
    ),
}
