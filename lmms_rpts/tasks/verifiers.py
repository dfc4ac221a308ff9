"""Our graders as verifiers of lmms-eval, by the names that a configuration gives as ``type``."""

from __future__ import annotations

from lmms_eval.verifiers.base import Verifier

from lmms_rpts.tasks.cmmath.verifier import CmmathVerifier
from lmms_rpts.tasks.rome.verifier import RomeVerifier

VERIFIERS: dict[str, type[Verifier]] = {"cmmath": CmmathVerifier, "rome": RomeVerifier}
