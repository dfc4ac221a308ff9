"""A small demo: 14 puzzles with drawn images, and recorded answers of two models.

- ``instances.json``: seven English and seven Chinese instances in the layout of RPTS-Eval, with a
  ``relation`` (guided, adversarial, independent) and a ``language``.
- ``images/``: the images that they cite, drawn for it.
- ``responses/careful.jsonl`` and ``responses/lucky.jsonl``: recorded answers of two invented
  models. Both answer 12 of 14 correctly; only one of them reasons correctly.
"""
