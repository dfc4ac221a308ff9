"""Grading of final answers by rules that abstain: pure functions of texts, English and Chinese.

Where the final answer stands (``statement``), what it is (``choice``, ``number``, ``text``,
``stance``, ``maths``), and whether it is the gold answer (``grader``).
"""
