"""What happened to some cases, with and without control."""

from __future__ import annotations

import base64
import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import ConfigError

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.figure import Figure

    Single = npt.NDArray[np.float32]


class Rollout:
    """Everything that happened to some cases. Arrays begin with the axes case and control step.

    >>> import cinoc
    >>> rollout = cinoc.Policy("heat1d").rollout(3, config={"time.steps": 50})
    >>> rollout
    cinoc.Rollout(heat1d, 3 cases, 50 steps, 8 agents)
    >>> bool(rollout.error[:, -1].mean() < rollout.uncontrolled_error[:, -1].mean())
    True
    """

    z: Single
    """The field after every control step, `[cases, steps, n]` or `[cases, steps, n_x, n_y]`."""
    xi: Single | None
    """Where the agents are, `[cases, steps, agents]` or `[cases, steps, agents, 2]`."""
    u: Single | None
    """Intensities, `[cases, steps, agents]`; none where agents have none."""
    v: Single | None
    """Velocities, like `xi`; none where agents do not move."""
    error: Single
    """Mean of (z - z*)² over space, `[cases, steps]`."""
    uncontrolled_z: Single
    """The field without control."""
    uncontrolled_error: Single
    """The error without control."""
    z0: Single
    """Initial fields, `[cases, n]` or `[cases, n_x, n_y]`."""
    target: Single
    """Targets, like `z0`."""
    axes: list[npt.NDArray[np.float64]]
    """Places of the grid points along every axis."""
    time: npt.NDArray[np.float64]
    """Time after every control step."""
    cases_from: str
    """What the cases are, in words."""
    config: dict[str, Any]
    """All settings of the rollout, by section."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.config = json.loads(found.pop("settings"))
        self._field = int(found.pop("field"))
        self.time = found.pop("dt") * np.arange(1, found["z"].shape[1] + 1)
        for name, value in found.items():
            setattr(self, name, value)
        if len(self.axes) == 2:
            # the engine has vectors axis by axis: this is a view
            self.xi, self.v = (None if a is None else a.swapaxes(-1, -2) for a in (self.xi, self.v))

    @property
    def task(self) -> str:
        """Name of the task."""
        return str(self.config["task"])

    @property
    def agents(self) -> int:
        """Number of agents."""
        return int(self.config["agents"])

    def __len__(self) -> int:
        return len(self.z)

    def __repr__(self) -> str:
        steps = self.z.shape[1]
        return f"cinoc.Rollout({self.task}, {len(self)} cases, {steps} steps, {self.agents} agents)"

    def median_case(self) -> int:
        """The case whose final error is the median of all."""
        return int(np.argsort(self.error[:, -1], kind="stable")[(len(self) - 1) // 2])

    def plot(self, case: int | None = None) -> Figure:
        """A figure of one case: without control, with control, and what remains. Needs matplotlib.

        Without a number, the case is the one with the median final error.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise ConfigError("a plot needs matplotlib; pip install cinoc[plot]") from None
        case = self.median_case() if case is None else case
        if not 0 <= case < len(self):
            raise ConfigError(f"case={case}: there are {len(self)} cases, counted from 0")
        figure = Figure(figsize=(10, 3.2), layout="constrained")
        (self._plot_1d if len(self.axes) == 1 else self._plot_2d)(figure, case)
        return figure

    def _shown(self, z: Single) -> Single:
        """The first tracked field, if the state has several."""
        if self.z.ndim > 2 + len(self.axes):
            z = np.moveaxis(z, -1 - len(self.axes), 0)[self._field]
        return z

    def _plot_1d(self, figure: Figure, case: int) -> None:
        free, z = self._shown(self.uncontrolled_z)[case].T, self._shown(self.z)[case].T
        error = z - self._shown(self.target)[case][:, None]
        extent = (0.0, float(self.time[-1]), float(self.axes[0][0]), float(self.axes[0][-1]))
        low, high = float(min(free.min(), z.min())), float(max(free.max(), z.max()))
        largest = float(abs(error).max()) or 1.0
        panels = [
            ("without control", free, {"vmin": low, "vmax": high, "cmap": "viridis"}),
            ("with control", z, {"vmin": low, "vmax": high, "cmap": "viridis"}),
            ("error z - z*", error, {"vmin": -largest, "vmax": largest, "cmap": "RdBu_r"}),
        ]
        axes = figure.subplots(1, 3, sharey=True)
        for ax, (title, values, look) in zip(axes, panels):
            image = ax.imshow(values, origin="lower", aspect="auto", extent=extent, **look)
            figure.colorbar(image, ax=ax)
            ax.set(title=title, xlabel="t")
        if self.xi is not None:
            axes[1].plot(self.time, self.xi[case], color="white", linewidth=0.6)
        axes[0].set_ylabel("x")

    def _plot_2d(self, figure: Figure, case: int) -> None:
        target, free = self._shown(self.target)[case], self._shown(self.uncontrolled_z)[case, -1]
        z = self._shown(self.z)[case, -1]
        error = z - target
        low = float(min(a.min() for a in (target, free, z)))
        high = float(max(a.max() for a in (target, free, z)))
        largest = float(abs(error).max()) or 1.0
        x, y = self.axes
        extent = (float(x[0]), float(x[-1]), float(y[0]), float(y[-1]))
        same = {"vmin": low, "vmax": high, "cmap": "viridis"}
        panels = [
            ("target", target, same),
            ("without control, at the end", free, same),
            ("with control, at the end", z, same),
            ("error z - z*", error, {"vmin": -largest, "vmax": largest, "cmap": "RdBu_r"}),
        ]
        axes = figure.subplots(1, 4, sharey=True)
        for ax, (title, values, look) in zip(axes, panels):
            image = ax.imshow(values.T, origin="lower", extent=extent, **look)
            figure.colorbar(image, ax=ax, shrink=0.7)
            ax.set(title=title, xlabel="x")
        if self.xi is not None:
            places = self.xi[case, -1]
            axes[2].plot(places[:, 0], places[:, 1], "o", color="white", markersize=3)
        axes[0].set_ylabel("y")

    def _repr_html_(self) -> str:
        with_control, without = self.error[:, -1].mean(), self.uncontrolled_error[:, -1].mean()
        rows = [
            ("task", self.task),
            ("cases", self.cases_from),
            ("agents", f"{self.agents}"),
            ("control steps", f"{self.z.shape[1]}"),
            ("mean (z - z*)² at the last step", f"{with_control:.3e}"),
            ("the same without control", f"{without:.3e}"),
        ]
        lines = [f"<tr><th style='text-align:left'>{name}</th><td>{value}</td></tr>" for name, value in rows]
        return f"<table>{''.join(lines)}</table>{self._picture()}"

    def _picture(self) -> str:
        """The plot as an image, where matplotlib is installed."""
        try:
            figure = self.plot()
        except ConfigError:
            return ""
        png = io.BytesIO()
        figure.savefig(png, format="png", dpi=80)
        return f"<img src='data:image/png;base64,{base64.b64encode(png.getvalue()).decode()}'>"
