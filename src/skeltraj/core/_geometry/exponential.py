"""Exponentials of many numbers, by vector instructions."""

from __future__ import annotations

import math

import numpy as np

from skeltraj.core._runtime.compile import compiled

# exp(v) = 2^k exp(r), v = k ln 2 + r with |r| <= ln(2) / 2. The first part of ln 2 ends in zeros, so that its product
# with k is exact; k is rounded by a number so large that the bits behind it are lost, and stands in its last bits.
_PER_LOG2 = 1.4426950408889634
_LOG2_HIGH, _LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROUNDING = 1.5 * 2.0**52
_EXPONENT, _ONE = 52, 1023 << 52  # where a number's exponent is among its bits, and the bits of 1
_AT_ONCE = 1024  # numbers, whose powers of 2 stay in the cache; chosen by eye
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (1 / math.factorial(k) for k in range(2, 14))


@compiled
def exponentials(values: np.ndarray, scale: float) -> None:
    """``exp(-values / scale)`` in the place of values from 0 to 700 scales, to the last digit or its neighbour.

    Compiled code has no exponential by vector instructions, and one number at a time takes three times as long.
    """
    power = np.empty(_AT_ONCE)
    bits = power.view(np.int64)
    for first in range(0, len(values), _AT_ONCE):
        part = values[first : first + _AT_ONCE]
        for i in range(len(part)):
            v = -part[i] / scale
            power[i] = v * _PER_LOG2 + _ROUNDING
            k = power[i] - _ROUNDING
            r = (v - k * _LOG2_HIGH) - k * _LOG2_LOW
            p = ((((_C13 * r + _C12) * r + _C11) * r + _C10) * r + _C9) * r + _C8
            p = (((((p * r + _C7) * r + _C6) * r + _C5) * r + _C4) * r + _C3) * r + _C2
            part[i] = 1.0 + (r + r * r * p)
        for i in range(len(part)):
            bits[i] = (bits[i] << _EXPONENT) + _ONE
        for i in range(len(part)):
            part[i] *= power[i]
