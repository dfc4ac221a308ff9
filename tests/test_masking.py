"""Secrets and images are masked in messages and in the settings of runs."""

from __future__ import annotations

import base64

from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.base.masking import RUN, mask, mask_key
from lmms_rpts.runs.metadata import mask_settings
from tests.support.tables import table


@table(
    "settings, shown",
    ("pretrained=lab/model,dtype=auto", "pretrained=lab/model, dtype=auto"),
    ("model=a,OPENAI_API_KEY=abc,batch=2", "model=a, OPENAI_API_KEY=***, batch=2"),
    ("hf_token=abc,apiKey=abc,my-secret=abc", "hf_token=***, apiKey=***, my-secret=***"),
    # A value with a comma extends to the next name.
    ("api_key=ab,cd,model=x", "api_key=***, model=x"),
    # Limits and names, not secrets.
    ("max_new_tokens=2048,max_tokens=16", "max_new_tokens=2048, max_tokens=16"),
    ("tokenizer=lab/model,tokenizer_mode=auto", "tokenizer=lab/model, tokenizer_mode=auto"),
    ("token=123456789,api_tokens=abc", "token=***, api_tokens=***"),
    ("base_url=https://me:pass@host/v1", "base_url=https://***@host/v1"),
    ("base_url=https://host/v1?api_key=abc&x=1", "base_url=https://host/v1?api_key=***&x=1"),
    # Common formats of keys, under any name
    ("value=sk-abcdefgh12345678", "value=***"),
    ("headers={'Authorization': 'Bearer abc def'}", "headers={'Authorization': ***}"),
    ('extra={"api_key": "abc", "n": 1}', 'extra={"api_key": ***, "n": 1}'),
    ({"client": {"secret": "abc", "n": 1}}, "client={'secret': ***, 'n': 1}"),
    ({"api_key": ["abc"]}, "api_key=***"),
)
def test_settings(settings: object, shown: str) -> None:
    assert mask_settings(settings) == shown


KEY = "sk-proj-T3BlbkFJ0aZ9-yX8wV7uT6s_R5qP4"
DATA = base64.b64encode(bytes(range(256))).decode()


@table(
    "text, shown",
    (f"Incorrect API key provided: {KEY}. See", "Incorrect API key provided: ***. See"),
    (f"a{KEY.upper()}b {KEY.lower()}", "a***b ***"),
    (f"{KEY[:20]}... or ...{KEY[-8:]}", "***... or ...***"),
    (f"{KEY[3:12]}{KEY[20:30]} twice", "*** twice"),
    ("sk-proj-********qP4 tells nothing", "***********qP4 tells nothing"),
    ("no seven characters: T3BlbkF", "no seven characters: T3BlbkF"),
    ("Unauthorized: unexpected token: }", "Unauthorized: unexpected token: }"),
    (f'"data:image/jpeg;base64,{DATA}" is red', '"[image]" is red'),
    (DATA.replace("/", "\\/"), "[image]"),
    ("-" * 300 + "\n" + "=" * 300, "-" * 300 + "\n" + "=" * 300),
    ("https://example.com/" + "a-long-path/" * 20, "https://example.com/" + "a-long-path/" * 20),
)
def test_runs_of_a_key_and_images_are_masked(text: str, shown: str) -> None:
    assert mask(text, KEY) == shown


def test_each_of_several_keys_is_masked_and_placeholders_are_none() -> None:
    assert mask_key("first org-Qx71c and abcde", "none abcde org-Qx71c") == "first *** and ***"
    assert [mask_key("none of x", key) for key in ("none", "x", "", " ")] == ["none of x"] * 4


@given(st.data(), st.text("abcXYZ0189-_.", min_size=RUN, max_size=40), st.text(max_size=20))
def test_no_eight_characters_of_a_key_stay(data: st.DataObject, key: str, around: str) -> None:
    first = data.draw(st.integers(0, len(key) - RUN))
    last = data.draw(st.integers(first + RUN, len(key)))
    said = mask_key(f"{around}{key[first:last]}{around}{key}", key).lower()
    assert not [at for at in range(len(key) - RUN + 1) if key[at : at + RUN].lower() in said]
    assert mask_key(around, KEY) == around


@table(
    "text",
    "Authorization: Token SECRET-1",
    "Authorization: ApiKey SECRET-1",
    "{'api_keys': ['SECRET-1', 'SECRET-1']}",
    'api_key="ab\\"SECRET-1"',
    "https://h/x?sig=SECRET-1&a=1",
    "url=https://h?key=SECRET-1",
    "X-Amz-Signature=SECRET-1",
    "jwt=SECRET-1",
    "pass=SECRET-1",
    "Bearer SECRET-1",
    "https://u:p@SECRET-1@host/x",
    "nvapi-SECRET-1",
)
def test_secrets_are_masked_wherever_they_are(text: str) -> None:
    assert "SECRET" not in mask(text)
    assert "***" in mask(text)


@table("text", "max_new_tokens=2048", "tokenizer=lab/model", "passes=3", "sigma=0.1", "seed: 7")
def test_what_is_no_secret_is_shown(text: str) -> None:
    assert mask(text) == text
