"""Rail-optimised fabric planner for GPU clusters."""
