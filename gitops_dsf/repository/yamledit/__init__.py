"""Edits YAML files that people wrote: locks, imports and proposals of the inventory. Knows no kind and no
stage.
"""

from gitops_dsf.repository.yamledit.yamlfile import YamlFile, appended, written

__all__ = ["YamlFile", "appended", "written"]
