"""Kinds of judges: each in a module of its own, found by the registry."""
