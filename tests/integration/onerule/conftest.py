"""What tests of one rule in two programs share."""

from tests.integration.reconciler.conftest import pages as pages  # noqa: PLC0414 - a fixture
