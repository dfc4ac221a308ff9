"""Table of the models of lmms-eval that compute likelihoods of answer options with images.

It describes lmms-eval 0.7.3; a test compares it with the code of the installed version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from loguru import logger

from lmms_rpts.models.wrappers import find_wrapper, is_known

OURS = "hf_multimodal"
"""The model that computes likelihoods for all image-text-to-text checkpoints of transformers."""
Kind = Literal["right", "unchecked", "constant", "missing", "broken", "chat", "unknown"]

_CONSTANT = "dummy qwen_image_edit sam3"
_INHERITED = "llama_vid mplug_owl_video video_llava xcomposer2_4KHD"
_UNCHECKED = """
    auroracap fuyu llava llava_onevision llava_vid longva ola oryx qwen_vl ross slime tinyllava vila
    vqtoken
"""
_NOT_THERE = """
    aero aria audio_flamingo_3 bagel bagel_umm bagel_unig2u baichuan_omni batch_gpt4 cambrians
    cambrians_vsc cambrians_vsc_streaming cambrians_vsr claude cogvlm2 cosmos_wm egogpt from_log
    gemini gemma3 gemma4 generation_api glm4v gpt4o_audio gpt4v idefics2 illume_plus instructblip
    internvideo2 internvideo2_5 internvl internvl2 internvl3 internvl3_5 kimi_audio litellm
    llama4_scout llama_vision llava_onevision1_5 llava_onevision_moviechat llava_sglang ltx_video
    magi1_wm mantis minicpm_o minicpm_v minimonkey mistral3_vl mmada moviechat omnivinci openai
    ovis_u1 penguinvl phi3v phi4_multimodal plm qwen2_5_omni qwen2_5_vl qwen2_audio qwen2_vl qwen3_5
    qwen3_omni qwen3_vl qwen_vl_api reka srt_api uni_moe_2_omni videoChatGPT video_salmonn_2
    videochat2 videochat_flash videollama3 vita vllm vora wan2_1_t2i wan2_1_t2v wan2_2 wan2_2_t2v
    whisper whisper_tt whisper_vllm xcomposer2d5
"""
REASONS: Mapping[Kind, str] = {
    "right": "it reads image, context and option together",
    "unchecked": "it has custom code in lmms-eval, which counts the end of turn as a token",
    "constant": "it returns the same number for every option",
    "missing": "its wrapper has no loglikelihood",
    "broken": "its loglikelihood reads the context without the images, which transformers refuses",
    "chat": "lmms-eval runs its chat wrapper, which it refuses for likelihood",
    "unknown": "it is not a model of lmms-eval",
}
"""Why models of each kind can or cannot be used."""
SIMPLE: Mapping[str, Kind] = {
    **dict.fromkeys(_UNCHECKED.split(), "unchecked"),
    **dict.fromkeys(_CONSTANT.split(), "constant"),
    **dict.fromkeys((_INHERITED + _NOT_THERE).split(), "missing"),
    "llava_hf": "broken",
    "replay": "missing",
    OURS: "right",
}
"""Simple wrappers of lmms-eval and of this package, by name."""
_USABLE = ("right", "unchecked", "unknown")


class LikelihoodError(ValueError):
    """A task needs likelihoods that the chosen model does not have."""


@dataclass(frozen=True, slots=True)
class LikelihoodSupport:
    """The likelihood support of a model.

    Attributes:
        model: name of the model.
        kind: a key of ``REASONS``.
        simple: for a chat wrapper, the kind of the simple wrapper that ``--force_simple`` chooses.
    """

    model: str
    kind: Kind
    simple: Kind | None = None

    @property
    def usable(self) -> bool:
        """Whether options may be scored with the model; True for unknown models."""
        return self.kind in _USABLE

    @property
    def remedy(self) -> str:
        """The model or option to use instead, for messages."""
        ours = (
            f"Use --model {OURS} --model_args pretrained=CHECKPOINT, for any image-text-to-text "
            "checkpoint of transformers"
        )
        if self.simple in _USABLE:
            return f"{ours}; or add --force_simple, which uses the simple wrapper of {self.model}"
        return ours


def likelihood_support(model: Any, force_simple: bool = False) -> LikelihoodSupport:
    """Look up whether the model that lmms-eval would build has likelihoods; imports no model.

    Args:
        model: name or alias, as for ``--model``, or a model instance.
        force_simple: as lmms-eval's flag.
    """
    name = model if isinstance(model, str) else type(model).__name__
    found = find_wrapper(model, force_simple)
    if found is None:  # lmms-eval reports unknown models
        return LikelihoodSupport(name, "unknown")
    if found.is_simple:
        return LikelihoodSupport(name, _kind(found.name, found.is_known))
    other = _simple_class(model) if isinstance(model, str) else None
    return LikelihoodSupport(
        name, "chat", None if other is None else _kind(found.name, is_known(other))
    )


def has_likelihood(model: Any, force_simple: bool = False) -> bool:
    """Whether answer options may be scored with a model: ``likelihood_support(...).usable``."""
    return likelihood_support(model, force_simple).usable


def check_likelihood(
    model: Any, tasks: str, force_simple: bool = False, model_args: Any = None
) -> None:
    """Refuse models without likelihoods before they are loaded; warn about unchecked ones.

    Args:
        model, force_simple: as for ``likelihood_support``.
        tasks: names of the tasks, for the message.
        model_args: as for ``--model_args``, text or a mapping.

    Raises:
        LikelihoodError: with the reason and the remedy.
    """
    found = likelihood_support(model, force_simple)
    reason = REASONS[found.kind]
    if not found.usable:
        raise LikelihoodError(
            f"{tasks}: cannot score the answer options by likelihood with the model "
            f"{found.model}: {reason}. {found.remedy}."
        )
    if found.kind == "right":
        _check_checkpoint(tasks, model_args)
    else:
        logger.warning(
            "{}: the likelihoods of the model {} are not verified: {}. {} computes correct ones.",
            tasks,
            found.model,
            reason,
            OURS,
        )


def is_encoder_decoder(config: Any) -> bool:
    """Whether a transformers model writes with an encoder and a decoder.

    BLIP-2 with FLAN-T5 says so only in the config of its text model.
    """
    found = getattr(config, "is_encoder_decoder", False)
    return bool(found or getattr(getattr(config, "text_config", None), "is_encoder_decoder", False))


def _check_checkpoint(tasks: str, model_args: Any) -> None:
    """Refuse a checkpoint of ``hf_multimodal`` with an encoder and a decoder, by its config."""
    from lmms_eval.utils import simple_parse_args_string
    from transformers import AutoConfig

    given = simple_parse_args_string(model_args) if isinstance(model_args, str) else model_args
    if not given or "pretrained" not in given:
        return
    name = str(given["pretrained"])
    try:
        config = AutoConfig.from_pretrained(
            name, revision=str(given.get("revision", "main")), trust_remote_code=False
        )
    except Exception as error:  # loading the model will report it
        logger.debug("The config of {} is not checked before the model is loaded: {}", name, error)
        return
    if is_encoder_decoder(config):
        raise LikelihoodError(
            f"{tasks}: {OURS} cannot score the answer options by likelihood with {name}: it has an "
            "encoder and a decoder. Use a checkpoint with only a decoder, or the tasks by "
            "generation."
        )


def _simple_class(model: str) -> str | None:
    """The simple wrapper of a model that also has a chat wrapper."""
    from lmms_eval.models import MODEL_REGISTRY_V2

    found: str | None = MODEL_REGISTRY_V2.get_manifest(model).simple_class_path
    return found


def _kind(name: str, known: bool) -> Kind:
    return SIMPLE.get(name, "unknown") if known else "unknown"
