"""The first control: a shipped policy steers fields it has never seen, with fewer and with more agents."""

import cinoc

policy = cinoc.Policy("fkpp1d")
print(policy)
for agents in (12, 20, 40):
    rollout = policy.rollout(10, agents=agents)
    before, after = rollout.uncontrolled_error[:, -1].mean(), rollout.error[:, -1].mean()
    print(f"{agents} agents: mean error {after:.1e}, without control {before:.1e}")
