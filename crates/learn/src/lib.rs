//! Training through the physics, data pools, checkpoints and evaluation.
