"""The demo's task: the bundled instances, run as RPTS-Eval is."""
