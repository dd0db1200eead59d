"""Pictures of fields, made with NumPy alone: the same numbers give the same pixels.

1D: the field as a curve over its target, the agents as marks at the bottom. 2D: the field as a map with the agents
as dots, and its target beside it if there is one. A failed agent is grey.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from ._native import Environments
from .errors import ConfigError

Image = NDArray[np.uint8]

MODES = ["rgb_array", "human"]

HEIGHT, WIDTH = 192, 320
"""Size of pictures in 1D, in pixels."""

SIDE = 192
"""Size of a map in 2D, about."""

WHITE, GREY, BLACK = (255, 255, 255), (170, 170, 170), (20, 20, 20)
BLUE, RED, GOLD = (33, 90, 170), (178, 34, 42), (225, 135, 0)


def checked(mode: str | None) -> str | None:
    """The mode, if it is one."""
    if mode is not None and mode not in MODES:
        raise ConfigError(f"render_mode = {mode!r} is not known; use one of {', '.join(MODES)}, or None")
    return mode


def shown(mode: str, image: Image) -> Image | None:
    """The picture, or nothing after it was printed in the terminal."""
    if mode == "rgb_array":
        return image
    sys.stdout.write(text(image) + "\n")
    return None


def frames(environments: Environments) -> list[Image]:
    """A picture of every copy."""
    draw = _curve if len(environments.lengths) == 1 else _map
    states, alive = environments.states(), environments.alive()
    return [draw(environments, state, working) for state, working in zip(states, alive, strict=True)]


def text(image: Image, columns: int = 80) -> str:
    """The picture in coloured half blocks of a terminal, two pixels per character."""
    step = max(1, -(-image.shape[1] // columns))
    small = image[::step, ::step]
    small = small[: len(small) // 2 * 2]
    lines = []
    for upper, lower in zip(small[::2], small[1::2], strict=True):
        pairs = np.concatenate([upper, lower], axis=1)
        cells = ("\x1b[38;2;{};{};{};48;2;{};{};{}m▀".format(*pair) for pair in pairs.tolist())
        lines.append("".join(cells) + "\x1b[0m")
    return "\n".join(lines)


def _parts(
    environments: Environments, state: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, NDArray[np.float64]]:
    """The field that is shown, its target if it has one, and the positions of the agents from 0 to 1."""
    shape = environments.field_shape
    size = int(np.prod(shape))
    numbers = state.astype(np.float64)
    field = numbers[:size].reshape(shape)[environments.shown]
    target = numbers[size : 2 * size].reshape(shape)[environments.shown] if environments.tracks else None
    places = environments.start_positions().astype(np.float64)
    if environments.mobile:
        places = numbers[-places.size :].reshape(places.shape)
    return field, target, places / np.asarray(environments.lengths)[:, np.newaxis]


def _curve(environments: Environments, state: NDArray[np.float32], alive: NDArray[np.bool_]) -> Image:
    field, target, places = _parts(environments, state)
    image = np.full((HEIGHT, WIDTH, 3), WHITE, np.uint8)
    limit = max(3.0 * environments.unit, float(np.abs(field).max()))
    low = 0.0 if environments.positive else -limit
    zero = round((HEIGHT - 1) * limit / (limit - low))
    image[min(zero, HEIGHT - 1)] = (225, 225, 225)
    for values, colour in [(target, GREY), (field, BLUE)]:
        if values is not None:
            at = np.linspace(0.0, len(values) - 1.0, WIDTH)
            heights = np.interp(at, np.arange(len(values)), values[:, 0])
            rows = (HEIGHT - 1) * (limit - np.clip(heights, low, limit)) / (limit - low)
            before = np.concatenate([rows[:1], rows[:-1]])
            top, bottom = np.minimum(rows, before) - 1.0, np.maximum(rows, before) + 1.0
            row = np.arange(HEIGHT)[:, np.newaxis]
            image[(row >= top) & (row <= bottom)] = colour
    for place, working in zip(places[0], alive, strict=True):
        column = round(float(np.clip(place, 0.0, 1.0)) * (WIDTH - 1))
        image[HEIGHT - 8 :, max(column - 1, 0) : column + 2] = GOLD if working else GREY
    return image


def _map(environments: Environments, state: NDArray[np.float32], alive: NDArray[np.bool_]) -> Image:
    field, target, places = _parts(environments, state)
    values = [field] if target is None else [field, target]
    limit = max(float(np.abs(values[-1]).max()), environments.unit)
    images = [_coloured(part / limit, environments.positive) for part in values]
    height, width = images[0].shape[:2]
    for (x, y), working in zip(places.T, alive, strict=True):
        row, column = round((1.0 - float(y)) * (height - 1)), round(float(x) * (width - 1))
        dot = images[0][max(row - 2, 0) : row + 3, max(column - 2, 0) : column + 3]
        dot[:] = WHITE
        dot[1:-1, 1:-1] = BLACK if working else GREY
    gap = np.full((height, 4, 3), WHITE, np.uint8)
    return images[0] if target is None else np.concatenate([images[0], gap, images[1]], axis=1)


def _coloured(values: NDArray[np.float64], positive: bool) -> Image:
    """A field in units of its limit: from blue over white to red, or from white to blue. x goes right, y goes up."""
    upright = np.clip(values.T[::-1], -1.0, 1.0)[..., np.newaxis]
    white = np.asarray(WHITE, np.float64)
    above = np.asarray(BLUE if positive else RED, np.float64) - white
    below = np.asarray(BLUE, np.float64) - white
    colours = white + np.where(upright > 0.0, upright * above, -upright * below)
    if positive:
        colours = np.where(upright > 0.0, colours, white)
    scale = max(1, SIDE // max(values.shape))
    image: Image = np.rint(colours).astype(np.uint8).repeat(scale, 0).repeat(scale, 1)
    return image
