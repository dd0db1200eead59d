"""Learn one small control policy for fields, run it with any number of actuators.

>>> import cinoc
>>> cinoc.tasks()
['density2d', 'fkpp1d', 'heat1d', 'heat2d', 'heat2d-obstacles', 'ks1d', 'ks2d', 'turb2d']
>>> policy = cinoc.Policy("heat1d")
>>> policy
cinoc.Policy(heat1d, trained with 8 agents, 11170 parameters)
"""

from typing import TYPE_CHECKING, Any

from ._native import Task, tasks
from .errors import CinocError, CinocWarning, ConfigError, RunError
from .measures import check_gradients, evaluate, sweep
from .pde import PDE
from .physics import Physics
from .policy import Action, Policy
from .registration import register_environments
from .rollout import Rollout
from .training import Run, resume, train
from .viewer import view

if TYPE_CHECKING:
    from .marl import parallel_env

__all__ = [
    "Action",
    "CinocError",
    "CinocWarning",
    "ConfigError",
    "PDE",
    "Physics",
    "Policy",
    "Rollout",
    "Run",
    "RunError",
    "Task",
    "check_gradients",
    "evaluate",
    "parallel_env",
    "resume",
    "sweep",
    "tasks",
    "train",
    "view",
]

register_environments()


def __getattr__(name: str) -> Any:
    # PettingZoo is imported only by those who use it
    if name == "parallel_env":
        from .marl import parallel_env

        return parallel_env
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
