"""PettingZoo's own tests, and what they do not check."""

import types
import warnings
from functools import partial

import numpy as np
import pytest
from pettingzoo.test import max_cycles_test, parallel_api_test, parallel_seed_test, render_test

import cinoc
from cinoc import marl

QUICK = {"data.pool": 4, "data.spin_up": 60.0, "time.steps": 12}
FAILING = {**QUICK, "failure.share": 0.5, "failure.step": 4}


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CINOC_CACHE", str(tmp_path_factory.mktemp("cases")))
        yield


def turbulent(**options):
    config = {**QUICK, "data.spin_up": 0.01}
    return cinoc.parallel_env("turb2d", agents=64, config=config, **options)


def moving(**options):
    return cinoc.parallel_env("heat1d", agents=5, config={"data.pool": 4, "time.steps": 12}, **options)


def failing(**options):
    return cinoc.parallel_env("ks1d", agents=8, config=FAILING, **options)


@pytest.mark.parametrize("make", [turbulent, moving, failing])
def test_pettingzoo_accepts_it(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(make(), num_cycles=30)
        parallel_seed_test(make, num_cycles=10)


def test_max_cycles_is_kept():
    options = {"task": "ks1d", "agents": 4, "config": QUICK}
    module = types.SimpleNamespace(
        parallel_env=partial(marl.parallel_env, **options), env=partial(marl.env, **options)
    )
    max_cycles_test(module)


def test_pictures(capsys):
    render_test(partial(marl.env, "ks1d", agents=4, config=QUICK))
    assert moving().render() is None


def test_every_agent_sees_its_own_surroundings_and_all_share_the_reward():
    env = turbulent()
    observations, infos = env.reset(seed=1)
    assert env.num_agents == 64 and list(observations) == env.possible_agents
    assert len({observation.tobytes() for observation in observations.values()}) == 64
    actions = {agent: env.action_space(agent).high for agent in env.agents}
    observations, rewards, _, _, infos = env.step(actions)
    assert len(set(rewards.values())) == 1 and env.state().shape == (64 * 64,)
    assert infos["actuator_3"]["effort"] == pytest.approx(75.0**2)


def test_an_agent_that_fails_leaves():
    env = failing()
    env.reset(seed=2)
    assert env.num_agents == 8
    for cycle in range(12):
        before = list(env.agents)
        actions = {agent: env.action_space(agent).high for agent in env.agents}
        _, rewards, terminated, truncated, infos = env.step(actions)
        assert list(rewards) == before
        left = [agent for agent in before if terminated[agent]]
        assert len(left) == (4 if cycle == 3 else 0)
        assert all(truncated.values()) == (cycle == 11)
        assert infos[before[0]]["effort"] == (1.0 if cycle < 4 else 0.5), "it does nothing any more"
    assert env.agents == []


def test_agents_notice_who_has_failed():
    seen = {}
    for share in (0.0, 0.5):
        config = {**QUICK, "failure.share": share, "failure.step": 0, "observe.crowd": True}
        env = cinoc.parallel_env("ks1d", agents=8, config=config)
        observations, _ = env.reset(seed=0)
        assert env.num_agents == (8 if share == 0.0 else 4)
        seen[share] = observations
    survivor = next(iter(seen[0.5]))
    assert not np.array_equal(seen[0.0][survivor], seen[0.5][survivor])


def test_wrong_use_is_refused():
    env = moving()
    with pytest.raises(cinoc.RunError, match=r"call reset\(\)"):
        env.step({})
    env.reset(seed=0)
    actions = {agent: env.action_space(agent).sample() for agent in env.agents}
    for wrong, message in [
        ({}, "has no action"),
        ({**actions, "pump_1": actions["actuator_0"]}, "pump_1"),
        ({**actions, "actuator_2": np.zeros(3, np.float32)}, "actuator_2 has shape"),
        ({**actions, "actuator_2": np.array(["a", "b"])}, "dtype"),
        ({**actions, "actuator_2": np.full(2, np.nan, np.float32)}, "finite"),
    ]:
        with pytest.raises(cinoc.ConfigError, match=message):
            env.step(wrong)
    with pytest.raises(cinoc.ConfigError, match="seed"):
        env.reset(seed=-1)
    for _ in range(12):
        env.step({agent: env.action_space(agent).sample() for agent in env.agents})
    with pytest.raises(cinoc.RunError, match="is over"):
        env.step({})
    env.close()
    with pytest.raises(cinoc.RunError, match="closed"):
        env.reset()
