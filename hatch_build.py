"""The README in the metadata of gitops-dsf.

Package indexes show its text, and have none of the files that it links to.
"""

import re
from pathlib import Path
from typing import Any, Final

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK: Final = re.compile(r"(!?)\[([^]]*)\]\((?![a-z]+:|#)([^)\s]+)\)")


class ReadmeHook(MetadataHookInterface):
    """Reads README.md.

    The URL is that of [project.urls], which is there once the names are reserved.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = metadata.get("urls", {}).get("Repository")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": without_relative_links(
                text, repository=repository, tag=f"v{metadata['version']}"
            ),
        }


def without_relative_links(text: str, *, repository: str | None, tag: str) -> str:
    """Relative links lead to the repository at the tag.

    While it has no URL, only their text stays, and images are left out.
    """

    def replace(link: re.Match[str]) -> str:
        image, label, target = link.groups()
        if repository is None:
            return "" if image else label
        return f"{image}[{label}]({repository}/{'raw' if image else 'blob'}/{tag}/{target})"

    return re.sub(r"\n{3,}", "\n\n", _LINK.sub(replace, text))
