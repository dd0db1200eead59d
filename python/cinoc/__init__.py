"""Learn one small control policy for fields, run it with any number of actuators.

>>> import cinoc
>>> cinoc.tasks()
['density2d', 'fkpp1d', 'heat1d', 'heat2d', 'heat2d-obstacles', 'ks1d', 'ks2d', 'turb2d']
>>> policy = cinoc.Policy("heat1d")
>>> policy
cinoc.Policy(heat1d, trained with 8 agents, 11170 parameters)
"""

from ._native import Task, tasks
from .errors import CinocError, CinocWarning, ConfigError, RunError
from .measures import check_gradients, evaluate, sweep
from .pde import PDE
from .physics import Physics
from .policy import Action, Policy
from .rollout import Rollout
from .training import Run, resume, train

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
    "resume",
    "sweep",
    "tasks",
    "train",
]
