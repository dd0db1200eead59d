"""Learn one small control policy for fields, run it with any number of actuators."""

from ._native import Task, tasks
from .errors import CinocError, ConfigError, RunError

__all__ = ["CinocError", "ConfigError", "RunError", "Task", "tasks"]
