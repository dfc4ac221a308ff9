"""Texts that attack a page, and records that hold them in every field."""

from __future__ import annotations

from typing import Any

from tests.support.instances import make_doc
from tests.support.rome_runs import make_rome_record
from tests.support.runs import make_record

ATTACKS = [
    "<script>window.hacked=1</script>",
    "\"><img src=x onerror='window.hacked=1'>",
    "' onmouseover='window.hacked=1' x='",
    "</script><script>window.hacked=1</script>",
    "</style><svg onload=window.hacked=1>",
    "--><iframe src='https://example.org/'></iframe><!--",
    "{{ 7*7 }}{% raw %}${window.hacked=1}",
    "javascript:window.hacked=1",
    "&lt;b&gt; &amp;amp; &#39;",
    "W" * 4000,
    "ابجد שלום \u202e\u202d reversed \u2066",
    "🦊👩\u200d👩\u200d👧 e\u0301\u0301\u0301\u0301",
    "line\u2028sep\u2029para\x0b\x0c tab\t end",
    "<main id=\"main\"></main></article><article class='instance' id='evil'>",
    r"$\href{javascript:window.hacked=1}{x}$ \(\class{evil}{\style{position:fixed;inset:0}{y}}\)",
    r"$$x</math></noscript><script>window.hacked=1</script>$$ \[\unicode{<img src=x>}\]",
    r"$\text{<img src=x onerror=window.hacked=1>}$ $\color{red;background:url(//a.example)}x$ $y$",
    r"$\def\a{\a\a}\a$ $\hspace{-999em}\raise{-99em}x$ $\mathop{&#x3c;script&#x3e;}$ *a*",
    "[a](javascript:window.hacked=1) ![b](https://a.example/x.png) <https://a.example> *c*",
    "`</code><script>window.hacked=1</script>` | **<b onclick='window.hacked=1'>a</b>** | $x$",
    "nul\x00bell\x07esc\x1b[31mred",
]


def hostile_record(text: str, number: int) -> dict[str, Any]:
    doc = make_doc(
        id=f"{text} {number}",
        ability=[text, "OCR"],
        relation=text,
        statement=text,
        context=text,
        textual_clue=[text, text],
        visual_clue=[text, "../../etc/passwd"],
        reasoning=[f"Image0 -> {text}", f"Conclusion0 + Text0 -> {text}", text],
        answer=text,
    )
    record = make_record([0.0, 0.2], doc=doc, judge="lexical")
    for step in record["steps"]:
        step["conclusion"] = step["note"] = text
        for verdict in step["verdicts"]:
            verdict |= {"evidence": [text], "reply": text, "error": text}
    record["settings"] |= {"judge": text, "prompt_version": text}
    record["transform"] |= {"reason": text, "problems": [text], "style": text}
    record["reason"] = record["answer"]["reason"] = text
    record["invalid_references"] = [{"step": 0, "kind": "text", "index": 9, "reason": text}]
    return record


def hostile_rome_record(text: str) -> dict[str, Any]:
    record = make_rome_record(
        1.0,
        0.0,
        llm=0.0,
        consistent=False,
        answer=text,
        question=text,
        reference=text,
        evaluator="key_items_matching",
        evaluator_kwargs={"key_items": [[text]]},
        image_type=text,
        img_path=[text, "../../etc/passwd"],
    )
    record["grades"]["llm"]["verdict"]["reply"] = text
    record["findings"]["consistency"]["verdict"]["reply"] = text
    record["settings"] |= {"judge": text, "prompt_version": text}
    return record
