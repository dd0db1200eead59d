"""PPO of Stable-Baselines3, unchanged, on ks1d: 20 000 steps.

pip install cinoc[gym] stable-baselines3
python train_sb3.py
"""

import sys

import gymnasium
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

import cinoc  # noqa: F401, registers the environments

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000

env = Monitor(gymnasium.make("cinoc/ks1d-v0", agents=8, hold=10, config={"data.pool": 64}))
check_env(env)
model = PPO("MlpPolicy", env, seed=0, verbose=1, device="cpu")
before, _ = evaluate_policy(model, env, n_eval_episodes=10)
model.learn(STEPS)
after, _ = evaluate_policy(model, env, n_eval_episodes=10)
print(f"mean reward of an episode: {before:.2f} before training, {after:.2f} after {STEPS} steps")
