"""The commands that a person types: fit, predict, explain, diagnose, report, demo, completion."""
