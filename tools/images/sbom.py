"""The bill of materials of an image as CycloneDX 1.6: its Debian packages and its Python distributions."""

import email.parser
import json
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from tools.images.debian import Package
from tools.images.recipe import CODENAME

SPECIFICATION: Final = "1.6"


def bill(
    *, name: str, version: str, digest: str, created: str, packages: Sequence[Package], libraries: Path
) -> bytes:
    """The document. `libraries` is the folder with the Python distributions of the image."""
    components = [*map(_debian, packages), *_python(libraries)]
    document = {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPECIFICATION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": created,
            "component": {
                "type": "container",
                "bom-ref": f"pkg:oci/{name}@{quote(digest, safe='')}",
                "name": name,
                "version": version,
                "purl": f"pkg:oci/{name}@{quote(digest, safe='')}",
            },
        },
        "components": sorted(components, key=lambda component: str(component["bom-ref"])),
    }
    return json.dumps(document, indent=2, sort_keys=True).encode() + b"\n"


def _debian(package: Package) -> dict[str, Any]:
    version = quote(package.version, safe="")
    purl = f"pkg:deb/debian/{quote(package.name)}@{version}?arch={package.architecture}&distro={CODENAME}"
    return _component(package.name, package.version, purl)


def _python(libraries: Path) -> list[dict[str, Any]]:
    found = []
    for path in libraries.glob("*.dist-info/METADATA"):
        metadata = email.parser.Parser().parsestr(path.read_text(encoding="utf-8"), headersonly=True)
        name, version = metadata["Name"].lower().replace("_", "-"), metadata["Version"]
        component = _component(name, version, f"pkg:pypi/{quote(name)}@{quote(version)}")
        if expression := metadata["License-Expression"]:
            component["licenses"] = [{"expression": expression}]
        found.append(component)
    return found


def _component(name: str, version: str, purl: str) -> dict[str, Any]:
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
