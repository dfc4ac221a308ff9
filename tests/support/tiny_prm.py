"""Process reward models of a few thousand random parameters, in the files of their publishers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.tiny_lm import CHATML, tiny_tokenizer

MARKS = ("<extra_0>", "ки")
# Where the publishers' own classes are; never run.
_CODE = {"AutoModel": "modeling_prm.Custom"}


def build_tiny_prm(folder: Path, family: str, *, context: int = 4096) -> Path:
    """Writes a checkpoint of a family: ``qwen``, ``skywork``, ``math-shepherd`` or ``trl``."""
    import torch
    import transformers as typed_transformers
    from safetensors.torch import save_file
    from torch import nn

    transformers: Any = typed_transformers
    tokenizer = tiny_tokenizer(CHATML)
    tokenizer.add_special_tokens({"additional_special_tokens": [*MARKS]}, False)
    sizes = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": context,
        "initializer_range": 0.4,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "num_labels": 2,
    }
    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    if family == "math-shepherd":
        transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes)).save_pretrained(folder)
    elif family == "trl":
        config = transformers.Qwen2Config(**sizes)
        transformers.Qwen2ForTokenClassification(config).save_pretrained(folder)
    else:
        config = transformers.Qwen2Config(**sizes)
        base = transformers.Qwen2Model(config)
        if family == "qwen":
            heads = {"score.0": nn.Linear(32, 32), "score.2": nn.Linear(32, 2)}
            architecture = "Qwen2ForProcessRewardModel"
        else:
            heads = {"v_head.summary": nn.Linear(32, 1)}
            architecture = "Qwen2ForPrmModel"
        tensors = {f"model.{name}": value for name, value in base.state_dict().items()}
        tensors["lm_head.weight"] = torch.randn(len(tokenizer), 32)
        for name, head in heads.items():
            nn.init.normal_(head.weight, std=0.5)
            tensors |= {f"{name}.{part}": value for part, value in head.state_dict().items()}
        save_file({n: v.contiguous() for n, v in tensors.items()}, folder / "model.safetensors")
        written = {**config.to_dict(), "architectures": [architecture], "auto_map": _CODE}
        (folder / "config.json").write_text(json.dumps(written))
    tokenizer.save_pretrained(folder)
    return folder
