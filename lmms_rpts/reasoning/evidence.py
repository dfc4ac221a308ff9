"""The evidence that claims about images are judged against."""

from __future__ import annotations

from typing import Literal, get_args

Evidence = Literal["facts", "image", "both"]
"""Conclusions of the gold reasoning from the image, the image itself, or both."""
EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)
