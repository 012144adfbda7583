"""Loads the application ``module:app`` that `scorer run` serves."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from dsf_scorer.errors import DefinitionError, ScorerError


class LoadError(ScorerError):
    """The application cannot be imported."""


def load_app(reference: str, *, directory: Path) -> Callable[..., Any]:
    """Imports the ASGI application. The folder comes first on the import path. Raises ScorerError with the
    reason.
    """
    module_name, colon, attribute = reference.partition(":")
    if (
        not colon
        or not module_name
        or not attribute
        or not all(part.isidentifier() for part in (*module_name.split("."), attribute))
    ):
        msg = (
            f"{reference!r} does not name an application; write module:app, such as scorer:app for `app` in"
            " scorer.py"
        )
        raise LoadError(msg)
    sys.path.insert(0, str(directory.absolute()))
    try:
        module = import_module(module_name)
    except DefinitionError:
        raise
    except ModuleNotFoundError as error:
        msg = f"{module_name} needs {error.name}, which is not installed"
        if error.name and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            msg = f"there is no module {error.name} in {directory.absolute()}"
        raise LoadError(msg) from error
    except Exception as error:
        msg = f"{module_name} cannot be imported: {type(error).__name__}: {error}"
        raise LoadError(msg) from error
    app = getattr(module, attribute, None)
    if not callable(app):
        found = "has no" if app is None else "is no ASGI application:"
        msg = f"{module_name} {found} {attribute}; decorate a function with @scorer and name that"
        raise LoadError(msg)
    return app  # type: ignore[no-any-return] # whatever is callable is given to the server
