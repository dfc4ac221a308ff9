"""Models of this package for lmms-eval."""

from __future__ import annotations

from typing import Any


def model_manifests() -> list[Any]:
    """Names and classes in the form of lmms-eval's registry."""
    from lmms_eval.models.registry_v2 import ModelManifest

    return [
        ModelManifest("replay", simple_class_path="lmms_rpts.models.replay.Replay"),
        ModelManifest(
            "hf_multimodal",
            simple_class_path="lmms_rpts.models.hf_multimodal.HfMultimodal",
            aliases=("hf-multimodal",),  # the name in lm-evaluation-harness
        ),
    ]
