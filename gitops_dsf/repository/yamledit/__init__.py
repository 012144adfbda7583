"""Edits YAML files that people wrote, without knowing their kinds."""

from gitops_dsf.repository.yamledit.mirror import alike, mirror, owned
from gitops_dsf.repository.yamledit.yamlfile import YamlFile, appended, written

__all__ = ["YamlFile", "alike", "appended", "mirror", "owned", "written"]
