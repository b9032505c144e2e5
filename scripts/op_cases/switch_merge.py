"""Switch hands on one side; what is seen through Merge."""
import numpy as np

from op_cases import Cases

cases = Cases("switch_merge")
cases.add("Merge", {"inputs": [np.float32([1, 2])]}, name="of one")
cases.write()
