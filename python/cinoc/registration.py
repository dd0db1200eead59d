"""The tasks as environments in Gymnasium's registry."""

from ._native import tasks


def register_environments() -> None:
    """Registers `cinoc/TASK-v0` for every task. Does nothing without Gymnasium.

    Gymnasium 1.x loads no entry points: `import cinoc` calls this. Versions before 1.0 find it by the entry point
    of the package.
    """
    try:
        from gymnasium.envs.registration import register, registry
    except ImportError:
        return
    for task in tasks():
        name = f"cinoc/{task}-v0"
        if name not in registry:
            register(
                id=name,
                entry_point="cinoc.gym:FieldEnv",
                vector_entry_point="cinoc.gym:FieldVectorEnv",
                kwargs={"task": task},
            )
