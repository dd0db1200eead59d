"""Decisions of a policy."""

import pickle
import threading
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import cinoc

Array = npt.NDArray[np.float32]


def situation(agents: int = 20) -> tuple[Array, Array, Array]:
    """A field, positions and a target of fkpp1d."""
    x = np.linspace(0, 1, 100, dtype=np.float32)
    target = (0.4 + 0.1 * np.sin(6 * x)).astype(np.float32)
    return 0.3 * x, np.linspace(0.1, 0.9, agents, dtype=np.float32), target


@pytest.mark.parametrize("task", cinoc.tasks())
def test_a_policy_decides_as_in_the_closed_loop(task: str) -> None:
    policy = cinoc.Policy(task)
    rollout = policy.rollout(1, config={"time.steps": 3}, threads=1)
    assert rollout.xi is not None
    for step in (1, 2):
        z, xi = rollout.z[0, step - 1], rollout.xi[0, step - 1]
        action = policy.act(z, xi, rollout.target[0])
        if rollout.u is not None:
            assert action.u is not None
            np.testing.assert_allclose(action.u, rollout.u[0, step], rtol=2e-3, atol=2e-3)
        else:
            assert action.u is None and action.v is not None


@pytest.mark.parametrize("agents", [1, 7, 20, 300])
def test_any_number_of_agents(agents: int) -> None:
    z, xi, target = situation(agents)
    action = cinoc.Policy("fkpp1d").act(z, xi, target)
    assert action.u is not None and action.v is not None
    assert action.u.shape == action.v.shape == (agents,)
    assert action.u.dtype == np.float32 and np.isfinite(action.u).all() and (action.u != 0).any()


def test_two_axes_have_a_vector_per_agent() -> None:
    policy = cinoc.Policy("heat2d")
    xi = policy.start_positions(5)
    assert xi.shape == (5, 2)
    action = policy.act(np.zeros((32, 32)), xi, np.full((32, 32), 0.5))
    assert action.u is not None and action.v is not None
    assert action.u.shape == (5,) and action.v.shape == (5, 2)
    turned = policy.act(np.zeros((32, 32)), xi[::-1], np.full((32, 32), 0.5))
    assert turned.v is not None
    np.testing.assert_allclose(turned.v[::-1], action.v, rtol=1e-4, atol=1e-4)


def test_a_batch_decides_as_its_fields_do() -> None:
    policy = cinoc.Policy("fkpp1d")
    z, xi, target = situation()
    fields, targets = np.stack([z, 0.5 * z, z + 0.1]), np.stack([target, 1.1 * target, target])
    single = [policy.act(field, xi, target).u for field in fields]
    shared = policy.act(fields, xi, target).u
    assert shared is not None and shared.shape == (3, 20)
    np.testing.assert_array_equal(shared, np.stack([u for u in single if u is not None]))
    own = policy.act(fields, np.stack([xi] * 3), targets).u
    assert own is not None
    np.testing.assert_array_equal(own[0], shared[0])
    assert (own[1] != shared[1]).any()


def test_what_is_left_out_has_a_default() -> None:
    policy = cinoc.Policy("ks1d")
    z = np.sin(np.linspace(0, 20, 128))
    here, there = policy.act(z), policy.act(z, policy.start_positions(), np.zeros(128))
    assert here.u is not None and here.v is None and there.u is not None
    np.testing.assert_array_equal(here.u, there.u)


def test_a_finer_grid_is_read_as_it_is() -> None:
    policy = cinoc.Policy("heat1d")
    grids = [np.linspace(0, 1, n) for n in (199, 100)]
    fine, coarse = (policy.act(np.sin(3 * x), None, np.cos(2 * x)).u for x in grids)
    assert fine is not None and coarse is not None
    np.testing.assert_allclose(fine, coarse, rtol=0.05, atol=0.05)


def test_every_layout_and_type_gives_the_same_decision() -> None:
    policy = cinoc.Policy("fkpp1d")
    z, xi, target = situation()
    wanted = policy.act(z, xi, target).u
    assert wanted is not None
    strided = np.zeros((100, 3), dtype=np.float32)
    strided[:, 1] = z
    locked = z.copy()
    locked.flags.writeable = False
    swapped = z.astype(">f8")
    for same in (z.astype(float), strided[:, 1], z[::-1].copy()[::-1], locked, z.tolist(), swapped):
        found = policy.act(same, xi, target).u
        assert found is not None
        np.testing.assert_array_equal(found, wanted)
    whole = policy.act(np.zeros(100, dtype=int), xi, target).u
    zero = policy.act(np.zeros(100), xi, target).u
    assert whole is not None and zero is not None
    np.testing.assert_array_equal(whole, zero)


def test_axes_of_one_point_are_no_axes() -> None:
    policy = cinoc.Policy("fkpp1d")
    z, xi, target = situation()
    wanted = policy.act(z, xi, target).u
    for same in (xi[None], xi[:, None]):
        found = policy.act(z, same, target).u
        assert wanted is not None and found is not None
        np.testing.assert_array_equal(found, wanted)
    alone = policy.act(z, xi[:1], target).u
    assert alone is not None and alone.shape == (1,)


def test_fortran_order_is_another_order_of_memory_only() -> None:
    policy = cinoc.Policy("density2d")
    x, y = np.meshgrid(np.linspace(0, 1, 64), np.linspace(0, 1.25, 80), indexing="ij")
    z = np.exp(-20 * ((x - 0.3) ** 2 + (y - 0.5) ** 2))
    target = np.exp(-20 * ((x - 0.6) ** 2 + (y - 0.9) ** 2))
    xi = policy.start_positions()
    wanted = policy.act(z, xi, target).v
    found = policy.act(np.asfortranarray(z), np.asfortranarray(xi), np.asfortranarray(target)).v
    assert wanted is not None and found is not None and wanted.shape == (9, 2)
    np.testing.assert_array_equal(found, wanted)


def test_a_policy_survives_its_file_its_bytes_and_pickle(folder: Path) -> None:
    policy = cinoc.Policy("heat1d")
    policy.save("copy.safetensors")
    others = [cinoc.Policy("copy.safetensors"), cinoc.Policy(policy.to_bytes())]
    others.append(pickle.loads(pickle.dumps(policy)))
    for other in others:
        np.testing.assert_array_equal(other.parameters, policy.parameters)
        assert other.config == policy.config and isinstance(other, cinoc.Policy)
    assert others[0].path is not None and policy.path is None
    assert policy.agents == 8 and policy.task.name == "heat1d"


def test_threads_may_share_a_policy() -> None:
    policy = cinoc.Policy("fkpp1d")
    counts = [3, 5, 8, 20]
    wanted = {agents: policy.act(*situation(agents)).u for agents in counts}
    wrong: list[int] = []

    def decide(agents: int) -> None:
        z, xi, target = situation(agents)
        for step in range(50):
            policy.act(z, xi, target * (0.9 if step % 2 else 0.8))
            found, expected = policy.act(z, xi, target).u, wanted[agents]
            if found is None or expected is None or (found != expected).any():
                wrong.append(agents)

    threads = [threading.Thread(target=decide, args=(agents,)) for agents in counts * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
