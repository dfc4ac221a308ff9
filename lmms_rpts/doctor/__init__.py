"""Checks of installation, settings, judge and data: ``lmms-rpts doctor`` as functions."""
