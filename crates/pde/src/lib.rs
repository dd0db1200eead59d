//! Grids, random fields and solvers of partial differential equations, written forward-only on the engine.
