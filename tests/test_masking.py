"""Secrets and images are masked in messages and in the settings of runs."""

from __future__ import annotations

import base64

from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.base.masking import RUN, mask, mask_images, mask_key
from lmms_rpts.runs.metadata import mask_settings
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


KEY = "sk-proj-T3BlbkFJ0aZ9-yX8wV7uT6s_R5qP4"


@table(
    "text, shown",
    (f"Incorrect API key provided: {KEY}. See", "Incorrect API key provided: ***. See"),
    (f"a{KEY.upper()}b {KEY.lower()}", "a***b ***"),
    (f"{KEY[:20]}... or ...{KEY[-8:]}", "***... or ...***"),
    (f"{KEY[3:12]}{KEY[20:30]} twice", "*** twice"),
    ("sk-proj-********qP4 tells nothing", "***********qP4 tells nothing"),
    ("no seven characters: T3BlbkF", "no seven characters: T3BlbkF"),
    ("Unauthorized: unexpected token: }", "Unauthorized: unexpected token: }"),
)
def test_runs_of_a_key_are_masked(text: str, shown: str) -> None:
    assert mask(text, KEY) == shown


@table("key", "none", "x", "", " ")
def test_placeholders_are_no_keys(key: str) -> None:
    assert mask_key("none of x", key) == "none of x"


def test_each_of_several_keys_is_masked() -> None:
    assert mask_key("first org-Qx71c and abcde", "none abcde org-Qx71c") == "first *** and ***"


@given(st.data(), st.text("abcXYZ0189-_.", min_size=RUN, max_size=40), st.text(max_size=20))
def test_no_eight_characters_of_a_key_stay(data: st.DataObject, key: str, around: str) -> None:
    first = data.draw(st.integers(0, len(key) - RUN))
    last = data.draw(st.integers(first + RUN, len(key)))
    said = mask_key(f"{around}{key[first:last]}{around}{key}", key).lower()
    assert not [at for at in range(len(key) - RUN + 1) if key[at : at + RUN].lower() in said]


@given(st.text(max_size=200))
def test_other_text_stays(text: str) -> None:
    assert mask_key(text, KEY) == mask_images(text) == text


DATA = base64.b64encode(bytes(range(256))).decode()


@table(
    "text, shown",
    (f'"data:image/jpeg;base64,{DATA}" is red', '"[image]" is red'),
    (f"...{DATA}...", "...[image]..."),
    (DATA.replace("/", "\\/"), "[image]"),
    ("-" * 300 + "\n" + "=" * 300, "-" * 300 + "\n" + "=" * 300),
    ("https://example.com/" + "a-long-path/" * 20, "https://example.com/" + "a-long-path/" * 20),
)
def test_images_are_masked(text: str, shown: str) -> None:
    assert mask_images(text) == shown
