"""Learn one small control policy for fields, run it with any number of actuators."""

from typing import TYPE_CHECKING, Any

from ._native import Task, tasks
from .errors import CinocError, ConfigError, RunError
from .registration import register_environments

if TYPE_CHECKING:
    from .marl import parallel_env

__all__ = ["CinocError", "ConfigError", "RunError", "Task", "parallel_env", "tasks"]

register_environments()


def __getattr__(name: str) -> Any:
    # PettingZoo is imported only by those who use it
    if name == "parallel_env":
        from .marl import parallel_env

        return parallel_env
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
