"""The training loop of the examples."""

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "vector_training.py"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CINOC_CACHE", str(tmp_path))


def test_an_evolution_strategy_learns_on_the_vector_environment(capsys):
    train = runpy.run_path(str(EXAMPLE))["train"]
    config = {"data.pool": 4, "data.spin_up": 60.0, "time.steps": 60}
    history = train(copies=16, generations=6, config=config)
    assert len(history) == 7 and history[-1] > 0.6 * history[0], history
    assert "generation 6" in capsys.readouterr().out
