"""Secrets in the settings of runs are masked."""

from __future__ import annotations

from lmms_rpts.runs.masking import mask_settings, mask_text
from tests.support.tables import table


@table(
    "settings, shown",
    ("pretrained=lab/model,dtype=auto", "pretrained=lab/model, dtype=auto"),
    ("api_key=abc", "api_key=***"),
    ("model=a,OPENAI_API_KEY=abc,batch=2", "model=a, OPENAI_API_KEY=***, batch=2"),
    ("hf_token=abc", "hf_token=***"),
    ("apiKey=abc", "apiKey=***"),
    ("my-secret=abc", "my-secret=***"),
    ("db_password=abc", "db_password=***"),
    ("token=123456789", "token=***"),
    # A value with a comma extends to the next name.
    ("api_key=ab,cd,model=x", "api_key=***, model=x"),
    ("api_key=a=b,model=x", "api_key=***, model=x"),
    # Limits and names, not secrets.
    ("max_new_tokens=2048,max_tokens=16", "max_new_tokens=2048, max_tokens=16"),
    ("tokenizer=lab/model,tokenizer_mode=auto", "tokenizer=lab/model, tokenizer_mode=auto"),
    ("api_tokens=abc", "api_tokens=***"),
    # URLs
    ("base_url=https://me:pass@host/v1", "base_url=https://***@host/v1"),
    ("base_url=https://host/v1?api_key=abc&x=1", "base_url=https://host/v1?api_key=***&x=1"),
    # Common formats of keys, under any name
    ("value=sk-abcdefgh12345678", "value=***"),
    ("value=hf_abcdefghijklmnop", "value=***"),
    ("headers={'Authorization': 'Bearer abc def'}", "headers={'Authorization': ***}"),
    ('extra={"api_key": "abc", "n": 1}', 'extra={"api_key": ***, "n": 1}'),
    ({"model": "a", "api_key": "abc"}, "model=a, api_key=***"),
    ({"client": {"secret": "abc", "n": 1}}, "client={secret=***, n=1}"),
    ({"api_key": {"a": "abc"}}, "api_key=***"),
    ({"api_key": ["abc"]}, "api_key=***"),
    ("", ""),
)
def test_settings(settings: object, shown: str) -> None:
    assert mask_settings(settings) == shown


def test_long_text_takes_no_longer() -> None:
    for text in ("a" * 100_000, "key=" * 25_000, "://" * 33_000, "'" * 100_000, "key='" * 20_000):
        assert len(mask_text(text)) <= 10_000
