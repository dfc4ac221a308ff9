"""Judging: requests to judges, with cache, budget, limit and retries."""

from lmms_rpts.judging.budget import Budget as Budget
from lmms_rpts.judging.client import Client as Client
from lmms_rpts.judging.client import open_client as open_client
from lmms_rpts.judging.client import run_async as run_async
from lmms_rpts.judging.registry import BACKENDS as BACKENDS
from lmms_rpts.judging.registry import backend_of as backend_of
from lmms_rpts.judging.registry import choices as choices
from lmms_rpts.judging.registry import find_judge as find_judge
from lmms_rpts.judging.registry import open_budget as open_budget
from lmms_rpts.judging.types import NO_JUDGE as NO_JUDGE
from lmms_rpts.judging.types import JudgeConfigurationError as JudgeConfigurationError
from lmms_rpts.judging.types import Request as Request
from lmms_rpts.judging.types import Usage as Usage
from lmms_rpts.judging.types import Verdict as Verdict
