"""Types of arrays, and the range of logarithms."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Values: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Indices: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.NDArray[
    np.int32
]  # numbers of endpoints, passes and rounds; 32 bits because arrays are large

LARGEST_LOG = 700.0  # the exponential of a larger logarithm may overflow
