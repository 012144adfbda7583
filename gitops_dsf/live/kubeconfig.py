"""What is wrong with a kubeconfig, in words: the Kubernetes client raises whatever it runs into while it reads one."""

from collections.abc import Iterator
from contextlib import contextmanager

from gitops_dsf.errors import HubError


@contextmanager
def reading(where: str, refusal: type[Exception]) -> Iterator[None]:
    """Turns what the client raises inside the block into HubError. No text of the file is repeated: it may be a token.

    `refusal` is the client's own exception for what it does not accept.
    """
    from yaml import MarkedYAMLError, YAMLError  # noqa: PLC0415 - comes with the client, which is an extra

    try:
        yield
    except YAMLError as error:
        mark = error.problem_mark if isinstance(error, MarkedYAMLError) else None
        place = f" (line {mark.line + 1})" if mark is not None else ""
        msg = f"{where}: the kubeconfig is not YAML{place}"
        raise HubError(msg) from error
    except (refusal, OSError, ValueError) as error:
        msg = f"{where}: {error}"
        raise HubError(msg) from error
    except (TypeError, KeyError, AttributeError) as error:
        msg = f"{where}: the kubeconfig has another shape than kubectl's; kubectl config view shows what it should hold"
        raise HubError(msg) from error
