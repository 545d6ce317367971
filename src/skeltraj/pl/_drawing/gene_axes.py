"""What the pictures of genes share: colours of lineages, scales, names that keep apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from skeltraj._palette import palette, palette_beside

_STEPS = (1, 3)  # ticks of counts in each power of ten


def lineage_colors(names: Sequence[str], beside: Sequence[str] = ()) -> dict[str, str]:
    """A colour for each of all lineages, the same in every picture but for those that have other colours `beside`."""
    return dict(zip(names, palette_beside(beside, len(names)) if beside else palette(len(names)), strict=True))


def count_scale(ax: Axes, top: float) -> None:
    """A scale of log(1 + count) from 0 to `top`, with counts as ticks."""
    ax.set_yscale("function", functions=(lambda y: np.log1p(np.maximum(y, -0.5)), np.expm1))
    ax.set_ylim(-0.04 * np.log1p(top), top)
    ticks = [0.0]
    if top < 1.5:
        step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if top / step <= 4 or step == 0.5)
        ticks += list(np.arange(1, int(top / step) + 1) * step)
    else:
        powers = range(int(np.floor(np.log10(top))) + 1)
        ticks += [float(m * 10**p) for p in powers for m in _STEPS if m * 10**p <= top]
        if len(ticks) > 6:
            ticks = [0.0, *(float(10**p) for p in powers if 10**p <= top)]
    ax.set_yticks(ticks, [f"{tick:,.15g}" for tick in ticks])
    ax.minorticks_off()


def apart(at: Sequence[float], names: Sequence[str], gap: float) -> list[tuple[float, str]]:
    """Names at places along a line; those nearer than `gap` to the one before become one name at their middle."""
    groups: list[tuple[list[float], list[str]]] = []
    for place, name in sorted(zip(at, names, strict=True)):
        if groups and place - groups[-1][0][-1] < gap:
            groups[-1][0].append(place)
            groups[-1][1].append(name)
        else:
            groups.append(([place], [name]))
    return [(float(np.mean(places)), " ".join(named)) for places, named in groups]
