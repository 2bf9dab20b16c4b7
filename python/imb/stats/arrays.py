"""Types of arrays, and the range of their logarithms."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Values: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Indices: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.NDArray[np.int32]  # of endpoints, passes and rounds, of which there are many

LARGEST_LOG = 700.0  # of a larger logarithm, the exponential may be no number
