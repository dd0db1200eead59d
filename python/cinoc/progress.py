"""How far some work is: a bar of tqdm where somebody sees it, nothing elsewhere."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

Callback = Callable[[int, dict[str, Any]], "bool | None"]
"""Called after every update of a training with its number and what it did. False stops the training."""


def _seen() -> bool:
    """Whether somebody looks at the output: on a terminal, or in a notebook."""
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


class Watch:
    """Hears of the work that the native half does."""

    def __init__(self, progress: bool | None = None, callback: Callback | None = None) -> None:
        self._bars = _seen() if progress is None else progress
        self._callback = callback
        self._bar: Any = None

    def begin(self, what: str, steps: int) -> None:
        """Work of so many steps begins."""
        self.end()
        if not self._bars:
            return
        try:
            with warnings.catch_warnings():
                # a notebook without widgets gets a bar of text
                warnings.simplefilter("ignore")
                from tqdm.auto import tqdm
        except ImportError:
            self._bars = False
            return
        self._bar = tqdm(total=steps, desc=what, leave=False)

    def reached(self, step: int) -> None:
        """So many steps are done."""
        if self._bar is not None:
            self._bar.update(step - self._bar.n)

    def updated(self, update: int, metrics: dict[str, Any]) -> bool | None:
        """A training did an update. False stops it."""
        if self._bar is not None:
            self._bar.set_postfix_str(f"loss {metrics['loss']:.3e}", refresh=False)
            self.reached(update)
        return None if self._callback is None else self._callback(update, metrics)

    def end(self) -> None:
        """The work is done."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
