"""Validity of judges: how well their scores separate sound steps from steps labelled as wrong."""
