"""Gymnasium's environments: their own checks, and what those do not check."""

import multiprocessing
import sys
import threading
import warnings
from importlib import import_module
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import cinoc
from cinoc.gym import FieldEnv, FieldVectorEnv

# initial states that are drawn quickly
QUICK = {"data.pool": 6, "time.steps": 12}
CHAOTIC = {**QUICK, "data.spin_up": 60.0}


def agree(one, other):
    """The same up to rounding: how sums are ordered depends on the number of copies."""
    np.testing.assert_allclose(np.asarray(one, float), np.asarray(other, float), rtol=1e-4, atol=1e-5)


def settings(task, **more):
    return {**(CHAOTIC if task in ("ks1d", "ks2d") else QUICK), **more}


def quick(task="ks1d", **options):
    config = settings(task, **options.pop("config", {}))
    return gymnasium.make(f"cinoc/{task}-v0", config=config, **options)


def vector(num_envs=5, task="ks1d", **options):
    config = settings(task, **options.pop("config", {}))
    return gymnasium.make_vec(f"cinoc/{task}-v0", num_envs=num_envs, config=config, **options)


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CINOC_CACHE", str(tmp_path_factory.mktemp("cases")))
        yield


@pytest.mark.parametrize("task", cinoc.tasks())
@pytest.mark.parametrize("options", [{}, {"action_units": "normalized", "obs_mode": "local"}])
def test_every_task_passes_the_checker_without_warnings(task, options, capsys):
    if task in ("turb2d", "ks2d"):
        options = {**options, "agents": 9}
    config = {"turb2d": {"data.spin_up": 0.01}, "ks2d": {"data.spin_up": 1.0}}.get(task, {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with quick(task, config=config, render_mode="rgb_array", **options) as env:
            check_env(env.unwrapped)
            assert env.unwrapped.spec.id == f"cinoc/{task}-v0"


def test_spaces_are_those_of_the_task():
    env = quick("heat1d", agents=3)
    points, agents, dims = 100, 3, 1
    assert env.observation_space.shape == (2 * points + dims * agents,)
    assert env.observation_space.high[-1] == 1.0 and env.observation_space.low[-1] == 0.0
    np.testing.assert_array_equal(env.action_space.high, [[40.0] * 3, [2.0] * 3])
    assert quick("ks1d", agents=5).action_space == gymnasium.spaces.Box(-1.0, 1.0, (1, 5), np.float32)
    flat = quick("heat1d", agents=3, action_units="normalized").action_space
    assert flat == gymnasium.spaces.Box(-1.0, 1.0, (6,), np.float32)
    assert quick("ks1d", agents=5, obs_mode="local").observation_space.shape[0] == 5


def test_normalized_actions_are_physical_actions_in_units_of_their_bounds():
    physical, normalized = quick("heat1d", agents=3), quick("heat1d", agents=3, action_units="normalized")
    physical.reset(seed=1), normalized.reset(seed=1)
    action = np.linspace(-1.0, 1.0, 6, dtype=np.float32)
    units = action.reshape(2, 3) * np.array([[40.0], [2.0]], np.float32)
    for _ in range(3):
        one, other = physical.step(units), normalized.step(action)
        np.testing.assert_allclose(one[0], other[0], atol=1e-6)
        assert one[1] == pytest.approx(other[1])


def test_actions_beyond_their_bounds_are_clipped():
    env = quick()
    env.reset(seed=1)
    beyond = env.unwrapped.step(np.full(env.action_space.shape, 7.0, np.float32))
    env.reset(seed=1)
    assert data_equivalence(beyond, env.unwrapped.step(env.action_space.high), exact=True)
    assert beyond[4]["effort"] == 1.0


def test_an_episode_ends_at_its_time_limit_and_says_how_well_it_went():
    env = quick(hold=3)
    _, info = env.reset(seed=3)
    assert info["error"] > 0.0 and info["effort"] == 0.0
    for decision in range(4):
        observation, reward, terminated, truncated, info = env.step(0.5 * env.action_space.high)
        assert not terminated and truncated == (decision == 3)
        assert info["error"] == pytest.approx(np.mean(observation**2), rel=1e-5)
        assert info["effort"] == pytest.approx(0.25) and reward < 0.0
    assert vector(2, max_episode_steps=5).unwrapped._environments.steps == 5


def test_a_lost_field_terminates_the_episode():
    env = quick("heat1d", config={"actuation.u_max": 4000.0, "time.steps": 200, "loss.effort_u": 0.0})
    env.reset(seed=0)
    action = env.action_space.high.copy()
    action[1] = 0.0
    for _ in range(200):
        observation, reward, terminated, _, _ = env.step(action)
        if terminated:
            break
    assert terminated and reward == -100.0 and not observation.any()


def test_vector_copies_are_single_environments():
    envs, singles = vector(3, agents=4), [quick(agents=4) for _ in range(3)]
    observations, infos = envs.reset(seed=11)
    for copy, env in enumerate(singles):
        observation, info = env.reset(seed=11 + copy)
        np.testing.assert_array_equal(observation, observations[copy])
        assert info["error"] == infos["error"][copy]
    envs.action_space.seed(0)
    for _ in range(11):
        actions = envs.action_space.sample()
        stepped = envs.step(actions)
        for copy, env in enumerate(singles):
            alone = env.step(actions[copy])
            for together, single in zip(stepped[:4], alone[:4], strict=True):
                agree(together[copy], single)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("obs_mode", ["state", "local"])
def test_autoreset_is_that_of_gymnasium(mode, obs_mode):
    """The same numbers as SyncVectorEnv gives, whose autoreset is Gymnasium's own."""
    config = {**CHAOTIC, "time.steps": 4}
    envs = vector(3, config=config, obs_mode=obs_mode, autoreset_mode=mode)
    assert envs.metadata["autoreset_mode"] == mode
    make = lambda: FieldEnv("ks1d", config=config, obs_mode=obs_mode)  # noqa: E731
    sync = SyncVectorEnv([make] * 3, autoreset_mode=mode)
    assert envs.observation_space == sync.observation_space and envs.action_space == sync.action_space
    assert data_equivalence(envs.reset(seed=5), sync.reset(seed=5), exact=True)
    envs.action_space.seed(1)
    ends = 0
    for _ in range(14):
        actions = envs.action_space.sample()
        ours, theirs = envs.step(actions), sync.step(actions)
        for one, other in zip(ours[:4], theirs[:4], strict=True):
            agree(one, other)
            assert one.dtype == other.dtype
        assert set(ours[4]) == set(theirs[4])
        for key in ("error", "effort", "_error", "_effort"):
            agree(ours[4][key], theirs[4][key])
        ended = ours[2] | ours[3]
        ends += ended.sum()
        if mode == AutoresetMode.SAME_STEP and ended.any():
            for one, other in zip(ours[4]["final_obs"], theirs[4]["final_obs"], strict=True):
                assert (one is None) == (other is None)
                agree([] if one is None else one, [] if other is None else other)
            np.testing.assert_array_equal(ours[4]["_final_obs"], theirs[4]["_final_obs"])
            for key in ("error", "effort"):
                agree(ours[4]["final_info"][key], theirs[4]["final_info"][key])
        if mode == AutoresetMode.DISABLED and ended.any():
            options = {"reset_mask": ended}
            agree(envs.reset(options=options)[0], sync.reset(options=dict(options))[0])
    assert ends >= 6


def test_some_copies_can_be_reset_alone():
    envs = vector(3, autoreset_mode="Disabled")
    envs.reset(seed=5)
    before = envs.step(envs.action_space.high)[0]
    after, info = envs.reset(seed=[None, 9, None], options={"reset_mask": np.array([False, True, False])})
    np.testing.assert_array_equal(after[[0, 2]], before[[0, 2]])
    np.testing.assert_array_equal(after[1], quick().reset(seed=9)[0])
    np.testing.assert_array_equal(info["_error"], [False, True, False])


def test_seeds_decide_all_episodes():
    one, other = quick(config={"noise.sensor": 0.1}), quick(config={"noise.sensor": 0.1})
    first = [one.reset(seed=4)[0], one.reset()[0], one.reset()[0]]
    again = [other.reset(seed=4)[0], other.reset()[0], other.reset()[0]]
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(quick().reset(seed=None)[0], quick(config={"noise.sensor": 0.1}).reset()[0])


def test_arrays_that_were_handed_out_do_not_change():
    envs = vector(4, autoreset_mode="SameStep", config={"time.steps": 3})
    kept = [envs.reset(seed=0)[0]]
    copies = [kept[0].copy()]
    for _ in range(7):
        kept.append(envs.step(envs.action_space.high)[0])
        copies.append(kept[-1].copy())
    for array, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
    kept[-1][:] = 0.0
    assert envs.step(envs.action_space.high)[0].any(), "the user's array is not the environment's"


def test_threads_change_no_number():
    def run(threads):
        envs = vector(40, threads=threads)
        envs.reset(seed=0)
        return [envs.step(0.3 * envs.action_space.high)[0] for _ in range(3)]

    np.testing.assert_array_equal(run(1), run(3))


@pytest.mark.parametrize("task", ["ks1d", "heat1d", "heat2d", "density2d"])
def test_pictures(task):
    env = quick(task, render_mode="rgb_array")
    env.reset(seed=0)
    first = env.render()
    assert first.dtype == np.uint8 and first.ndim == 3 and first.shape[2] == 3
    assert len(np.unique(first.reshape(-1, 3), axis=0)) > 3, "a field, a background, agents"
    np.testing.assert_array_equal(first, env.render())
    for _ in range(5):
        env.step(env.action_space.high)
    assert not np.array_equal(first, env.render())
    assert len(vector(2, task, render_mode="rgb_array").unwrapped.metadata["render_modes"]) == 2


def test_people_see_the_field_in_the_terminal(capsys):
    env = quick(render_mode="human")
    env.reset(seed=0)
    assert "▀" in capsys.readouterr().out
    env.step(env.action_space.high)
    assert "▀" in capsys.readouterr().out


def test_vector_pictures_are_one_per_copy():
    envs = vector(3, render_mode="rgb_array")
    envs.reset(seed=0)
    frames = envs.render()
    assert len(frames) == 3 and not np.array_equal(frames[0], frames[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"agents": 0}, "agents"),
        ({"agents": 2.5}, "agents"),
        ({"hold": 0}, "hold"),
        ({"hold": 13}, "hold"),
        ({"preset": "nothing"}, "preset"),
        ({"config": {"grid.m": 3}}, "grid.m"),
        ({"config": {"time.dt": -1.0}}, "time.dt"),
        ({"obs_mode": "all"}, "obs_mode"),
        ({"action_units": "volts"}, "action_units"),
        ({"render_mode": "ascii"}, "render_mode"),
        ({"threads": 0}, "threads"),
        ({"task": "ks3d"}, "ks3d"),
        ({"task": 3}, "no task"),
    ],
)
def test_wrong_settings_are_refused(options, message):
    arguments = {"task": "ks1d", "config": CHAOTIC, **options}
    arguments["config"] = {**CHAOTIC, **arguments["config"]}
    with pytest.raises(cinoc.ConfigError, match=message):
        FieldEnv(**arguments)


@pytest.mark.parametrize("copies", [0, -1, 1.5, 10**12])
def test_wrong_numbers_of_copies_are_refused(copies):
    with pytest.raises(cinoc.ConfigError):
        FieldVectorEnv("ks1d", copies, config=CHAOTIC)
    with pytest.raises(cinoc.ConfigError, match="autoreset_mode"):
        FieldVectorEnv("ks1d", 2, config=CHAOTIC, autoreset_mode="Sometimes")


def test_too_many_copies_are_refused_before_they_take_the_memory():
    with pytest.raises(cinoc.ConfigError, match="memory"):
        FieldVectorEnv("turb2d", 2**20, config={"data.pool": 2, "data.spin_up": 0.01})


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (np.zeros((2, 1, 8), np.float32), "shape"),
        (np.zeros((3, 8), np.float32), "shape"),
        (np.zeros((3, 1, 8), np.complex64), "dtype"),
        (np.zeros((3, 1, 8), bool), "dtype"),
        (np.full((3, 1, 8), "x"), "dtype"),
        (np.full((3, 1, 8), np.nan, np.float32), "finite"),
        (np.full((3, 1, 8), np.inf), "finite"),
        (None, "dtype"),
        ([[1.0], [1.0, 2.0]], "array"),
    ],
)
def test_wrong_actions_are_refused_and_nothing_happens(actions, message):
    envs = vector(3)
    before = envs.reset(seed=0)[0]
    with pytest.raises(cinoc.ConfigError, match=message):
        envs.step(actions)
    np.testing.assert_array_equal(envs.unwrapped._environments.states(), before)


def test_actions_of_other_kinds_are_converted():
    envs = vector(3)
    envs.reset(seed=0)
    expected = envs.step(np.ones((3, 1, 8), np.float32))[0]
    for actions in [
        np.ones((3, 1, 8)),
        np.ones((3, 1, 8), int),
        np.ones((3, 1, 8)).tolist(),
        np.ones((8, 1, 3), np.float32).T,
    ]:
        envs.reset(seed=0)
        np.testing.assert_array_equal(envs.step(actions)[0], expected)


@pytest.mark.parametrize("seed", [-1, 2**64, "one", 1.5, [1, 2], [1, 2, -3]])
def test_wrong_seeds_are_refused(seed):
    with pytest.raises(cinoc.ConfigError, match="seed"):
        vector(3).reset(seed=seed)
    with pytest.raises(cinoc.ConfigError, match="seed"):
        FieldEnv("ks1d", config=CHAOTIC).reset(seed=seed)


@pytest.mark.parametrize("mask", [[True, False, True], np.zeros(3, bool), np.ones(2, bool), np.ones(3)])
def test_wrong_masks_are_refused(mask):
    envs = vector(3)
    envs.reset(seed=0)
    with pytest.raises(cinoc.ConfigError, match="reset_mask"):
        envs.reset(options={"reset_mask": mask})


def test_steps_come_after_reset_and_before_the_end():
    envs = vector(3, autoreset_mode="Disabled", config={"time.steps": 2})
    with pytest.raises(cinoc.RunError, match=r"call reset\(\)"):
        envs.step(envs.action_space.high)
    with pytest.raises(cinoc.RunError, match="without a mask"):
        envs.reset(seed=0, options={"reset_mask": np.array([True, False, False])})
    envs.reset(seed=0)
    envs.step(envs.action_space.high)
    assert envs.step(envs.action_space.high)[3].all()
    with pytest.raises(cinoc.RunError, match=r"is over; call reset\(\)"):
        envs.step(envs.action_space.high)


def test_a_closed_environment_says_so():
    envs = vector(2)
    envs.reset(seed=0)
    envs.close()
    envs.close()
    for use in [lambda: envs.step(envs.action_space.high), lambda: envs.reset(seed=0)]:
        with pytest.raises(cinoc.RunError, match="closed"):
            use()


def test_two_threads_cannot_use_one_environment_at_the_same_time():
    envs = vector(64, "heat2d", hold=12)
    envs.reset(seed=0)
    refused, done = [], []

    def use():
        for _ in range(30):
            try:
                envs.step(0.1 * envs.action_space.high)
                done.append(1)
            except cinoc.RunError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=use) for _ in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert done and refused and all("another thread" in message for message in refused)
    envs.step(0.1 * envs.action_space.high)


def _in_a_child(envs, queue):
    try:
        envs.step(envs.action_space.high)
        queue.put("no error")
    except cinoc.RunError as error:
        queue.put(str(error))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_an_environment_does_not_survive_a_fork():
    envs = vector(2)
    envs.reset(seed=0)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_a_child, args=(envs, queue))
    child.start()
    assert "make a new one in this process" in queue.get(timeout=60)
    child.join()


def test_gymnasium_vector_wrappers_take_it():
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(vector(3, config={"time.steps": 3}))
    envs.reset(seed=0)
    for _ in range(3):
        info = envs.step(envs.action_space.high)[4]
    assert info["episode"]["l"].tolist() == [3, 3, 3]


def test_a_pde_written_in_python_is_an_environment():
    sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
    burgers = import_module("burgers").Burgers
    small = {"data.pool": 8, "time.steps": 20}
    check_env(FieldEnv(burgers, config=small), skip_render_check=True)
    vector = FieldVectorEnv(burgers, num_envs=3, config=small)
    assert vector.reset(seed=1)[0].shape == vector.observation_space.shape

    class Failing(burgers):
        name = "failing-burgers"

        def cases(self, *_):
            raise KeyError("a mistake of the user")

    with pytest.raises(KeyError, match="a mistake of the user"):
        FieldEnv(Failing, config=small)
