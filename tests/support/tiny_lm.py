"""A real chat model of a few thousand random parameters: the real judge's path, on any CPU.

Its weights are large, so that its output depends on every input token and its position.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = ("<pad>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|eot|>")
PAD, BOS, EOS, START, END, EOT = range(len(SPECIAL))


def build_tiny_lm(
    folder: Path,
    *,
    template: str | None = CHATML,
    eagerness: float = 1.2,
    context: int = 4096,
    **generation: Any,
) -> Path:
    """Writes a checkpoint.

    Args:
        template: the chat template; None: without one.
        eagerness: bias towards the special end tokens; 0: never.
        context: maximum number of tokens.
        generation: further fields of the generation config.
    """
    import torch
    import transformers as typed_transformers

    transformers: Any = typed_transformers

    tokenizer = tiny_tokenizer(template)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        initializer_range=0.4,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
    )
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config)
    with torch.no_grad():
        head = model.lm_head.weight
        head[[PAD, BOS, START]] = 0.0
        head[[EOS, END, EOT]] *= eagerness
    model.generation_config = transformers.GenerationConfig(
        pad_token_id=PAD, bos_token_id=BOS, eos_token_id=[EOS, END], **generation
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_tokenizer(template: str | None = CHATML) -> Any:
    """A tokenizer of single bytes and special tokens."""
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate([*SPECIAL, *alphabet])}
    bytes_only = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    bytes_only.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_only.decoder = decoders.ByteLevel()
    wrap: Any = transformers.PreTrainedTokenizerFast
    tokenizer = wrap(
        tokenizer_object=bytes_only,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        additional_special_tokens=list(SPECIAL[START:]),
    )
    tokenizer.chat_template = template
    return tokenizer
