"""What the tests share."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

SMALL = {
    "train.updates": 6,
    "train.batch": 4,
    "train.warmup": 2,
    "train.checkpoint_every": 2,
    "time.steps": 20,
    "data.pool": 16,
}
"""Settings that make a training take a second."""


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Cases are kept where nothing of an earlier run is."""
    before = os.environ.get("CINOC_CACHE")
    os.environ["CINOC_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["CINOC_CACHE"]
    else:
        os.environ["CINOC_CACHE"] = before


@pytest.fixture(autouse=True, scope="session")
def interrupts() -> None:
    """Ctrl-C interrupts, even if the tests were started in the background, where shells make processes ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test runs in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
