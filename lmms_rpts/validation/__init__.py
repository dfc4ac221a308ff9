"""Validity of judges: how well their scores tell sound steps from steps that people found wrong."""
