//! Figures and reports of runs.
