"""What can go wrong. The texts are those of the command line: they name the thing and the remedy."""


class CinocError(Exception):
    """Anything that goes wrong in cinoc."""


class ConfigError(CinocError, ValueError):
    """The request was wrong: a setting, a name, a file, an array. Nothing was changed."""


class CinocWarning(UserWarning):
    """Something about a request that may not be meant so; the work goes on."""


class RunError(CinocError, RuntimeError):
    """The request was fine, and the run failed."""
