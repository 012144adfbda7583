"""JSON Schemas of the few GitHub calls that are used (REST API 2022-11-28: pulls, issue comments, errors).

They are written from the documentation, as far as a client of these calls can depend on it. Objects of
answers may have more fields. Bodies and parameters of requests may not, because a misspelled one would
silently have no effect.
"""

from typing import Any

Schema = dict[str, Any]


def words(text: str) -> list[str]:
    return text.split()


TIME: Schema = {"type": "string", "format": "date-time"}
TIME_OR_NULL: Schema = {"type": ["string", "null"], "format": "date-time"}
REPOSITORY: Schema = {
    "type": "object",
    "required": ["id", "node_id", "name", "full_name", "private", "owner", "html_url", "fork", "url"],
    "properties": {
        "full_name": {"type": "string", "pattern": "^[^/]+/[^/]+$"},
        "private": {"type": "boolean"},
    },
}
USER: Schema = {"type": ["object", "null"], "required": words("login id node_id url type site_admin")}
SIDE: Schema = {
    "type": "object",
    "required": ["label", "ref", "repo", "sha", "user"],
    "properties": {
        "label": {"type": ["string", "null"]},
        "ref": {"type": "string"},
        "sha": {"type": "string", "pattern": "^[0-9a-f]{40}$"},
        "repo": {"anyOf": [REPOSITORY, {"type": "null"}]},
        "user": USER,
    },
}
PULL: Schema = {
    "type": "object",
    "required": words(
        "url id node_id html_url diff_url patch_url issue_url commits_url comments_url statuses_url number"
        " state locked title user body labels milestone created_at updated_at closed_at merged_at"
        " merge_commit_sha assignee head base _links author_association auto_merge"
    ),
    "properties": {
        "number": {"type": "integer", "minimum": 1},
        "state": {"enum": ["open", "closed"]},
        "title": {"type": "string"},
        "body": {"type": ["string", "null"]},
        "html_url": {"type": "string", "format": "uri"},
        "created_at": TIME,
        "updated_at": TIME,
        "closed_at": TIME_OR_NULL,
        "merged_at": TIME_OR_NULL,
        "head": SIDE,
        "base": SIDE,
    },
}
COMMENT: Schema = {
    "type": "object",
    "required": ["id", "node_id", "url", "html_url", "user", "created_at", "updated_at", "issue_url"],
    "properties": {"body": {"type": "string"}},
}
BASIC_ERROR: Schema = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("message", "documentation_url", "url", "status")},
}
VALIDATION_ERROR: Schema = {
    "type": "object",
    "required": ["message", "documentation_url"],
    "properties": {
        "errors": {"type": "array", "items": {"type": "object", "required": ["code"]}},
    },
}
CREATE_PULL: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["head", "base"],
    "anyOf": [{"required": ["title"]}, {"required": ["issue"]}],
    "properties": {
        **{name: {"type": "string"} for name in ("title", "head", "head_repo", "base", "body")},
        **{name: {"type": "boolean"} for name in ("maintainer_can_modify", "draft")},
        "issue": {"type": "integer"},
    },
}
UPDATE_PULL: Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        **{name: {"type": "string"} for name in ("title", "body", "base")},
        "state": {"enum": ["open", "closed"]},
        "maintainer_can_modify": {"type": "boolean"},
    },
}
CREATE_COMMENT: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["body"],
    "properties": {"body": {"type": "string", "minLength": 1, "maxLength": 65_536}},
}
LIST_PULLS: Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "state": {"enum": ["open", "closed", "all"]},
        "head": {"type": "string", "pattern": "^[^:]+:.+$"},
        "base": {"type": "string"},
        "sort": {"enum": ["created", "updated", "popularity", "long-running"]},
        "direction": {"enum": ["asc", "desc"]},
        "per_page": {"type": "string", "pattern": "^([1-9][0-9]?|100)$"},
        "page": {"type": "string", "pattern": "^[1-9][0-9]*$"},
    },
}
"""Parameters of a list, as strings of the query."""
