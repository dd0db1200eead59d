//! Observation, policy, actuation, objective and closed loop: the control tasks.
