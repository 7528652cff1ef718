"""Learning: loss, penalty, solver, path and selection."""
