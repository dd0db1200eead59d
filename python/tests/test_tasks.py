import cinoc


def test_eight_tasks() -> None:
    assert len(cinoc.tasks()) == 8 and "heat1d" in cinoc.tasks()
