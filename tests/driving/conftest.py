"""What the tests of runs share."""

import pytest

from tests.driving.kills import Nursery


@pytest.fixture(scope="session")
def nursery(tmp_path_factory):
    """Return a process that forks runs, which tests kill."""
    made = Nursery(tmp_path_factory.mktemp("nursery"))
    yield made
    made.close()
