"""Learn one small control policy for fields, run it with any number of actuators."""

from ._native import Task, tasks
from .errors import CinocError, ConfigError, RunError
from .pde import PDE
from .physics import Physics

__all__ = ["CinocError", "ConfigError", "PDE", "Physics", "RunError", "Task", "tasks"]
