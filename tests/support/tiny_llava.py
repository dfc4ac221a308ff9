"""A real LLaVA of a few thousand random parameters: the real model path, on any CPU.

Run as ``python -m tests.support.tiny_llava FOLDER`` to write the checkpoint.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.tiny_lm import tiny_tokenizer

_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: "
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
)
_SIDE, _PATCH = 28, 14


def build_tiny_llava(folder: Path, spread: float = 0.02) -> Path:
    """Writes a checkpoint that ``--model llava_hf --model_args pretrained=FOLDER`` can load.

    ``spread``: standard deviation of the weights; with a large one, the output depends on all of
    the input.
    """
    import torch
    from transformers import (
        CLIPImageProcessor,
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    tokenizer = tiny_tokenizer(None)
    tokenizer.add_tokens("<image>", special_tokens=True)
    image_token = tokenizer.convert_tokens_to_ids("<image>")
    vision = CLIPVisionConfig(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=_SIDE,
        patch_size=_PATCH,
        initializer_range=spread,
    )
    text = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=8192,
        initializer_range=spread,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    config = LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=image_token,
        image_token_id=image_token,
        initializer_range=spread,
    )
    torch.manual_seed(5)
    LlavaForConditionalGeneration(config).save_pretrained(folder)
    size = {"height": _SIDE, "width": _SIDE}
    LlavaProcessor(
        image_processor=CLIPImageProcessor(size=size, crop_size=size, do_center_crop=False),
        tokenizer=tokenizer,
        patch_size=_PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=_TEMPLATE,
    ).save_pretrained(folder)
    return folder


if __name__ == "__main__":
    print(build_tiny_llava(Path(sys.argv[1])))
