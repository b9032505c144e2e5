"""NextAfter; Digamma at its poles."""
import numpy as np

from op_cases import Cases

cases = Cases("special_functions")
INF, NAN = np.inf, np.nan
PAIRS = [(0, 1), (1, 0), (1, INF), (INF, 0), (NAN, 1), (1, 1), (0, -0.0), (-1e-45, 1), (1e30, -1)]
for dtype in (np.float32, np.float64):
    x1, x2 = np.array(PAIRS, np.float64).astype(dtype).T
    cases.add("NextAfter", {"x1": x1, "x2": x2})
cases.add("Digamma", {"x": np.float64([0, -0.0, -1, -0.5])}, name="poles", rtol=1e-12)
cases.write()
