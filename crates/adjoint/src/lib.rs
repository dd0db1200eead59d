//! Trace a step once, get its exact reverse, replay both at machine speed.
