"""A small demo of our own making: 14 puzzles, their drawn images and two models' answers.

- ``instances.json``: seven English and seven Chinese instances in the layout of RPTS-Eval, with a
  ``relation`` (guided, adversarial, independent) and a ``language`` each.
- ``images/``: the pictures they cite, drawn by ``python -m tests.support.demo_images.draw``.
- ``responses/careful.jsonl`` and ``responses/lucky.jsonl``: recorded answers of two imagined
  models. Both answer 12 of 14 rightly; only one of them reasons its way there.
"""
