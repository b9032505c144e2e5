"""Batch and Unbatch, of one request."""
import numpy as np

from op_cases import Cases

cases = Cases("batch")
F = np.float32
QUEUE = {"num_batch_threads": 1, "max_batch_size": 4, "batch_timeout_micros": 0, "grad_timeout_micros": 0}

# What TensorFlow calls a batch is its own affair: only the tensors are compared.
cases.add("Batch", {"in_tensors": [F([[1, 2], [3, 4], [5, 6]]), np.int64([7, 8, 9]), np.array(["a", "", "c"])]}, QUEUE, outputs=3)
cases.add("Batch", {"in_tensors": [np.ones((4, 0, 2), F)]}, QUEUE, outputs=1, name="no columns")
cases.add("Batch", {"in_tensors": [F([1, 2]), F([1, 2, 3])]}, QUEUE, refuse=True, name="rows")
cases.add("Batch", {"in_tensors": [F(1)]}, QUEUE, refuse=True, name="scalar")
cases.add("Batch", {"in_tensors": [np.ones(5, F)]}, QUEUE, refuse=True, name="too many")
for x in (F([[1, 2], [3, 4], [5, 6]]), np.array(["a", "b", "c"])):
    cases.add("Unbatch", {"batched_tensor": x, "batch_index": np.int64([[7, 0, 3]]), "id": np.int64(7)}, {"timeout_micros": 1000})
x = F([1, 2, 3])
for index in ([[7, 0, 2]], [[7, 0, 0]]):
    cases.add("Unbatch", {"batched_tensor": x, "batch_index": np.int64(index), "id": np.int64(7)}, {"timeout_micros": 1000}, name="some rows")
# TensorFlow does not survive these.
for name, index, number in (("columns", [[7, 0]], 7), ("rank", [7, 0, 3], 7), ("too far", [[7, 0, 4]], 7), ("backwards", [[7, 0, -1]], 7), ("from the middle", [[7, 1, 3]], 7),
                            ("another batch", [[7, 0, 3]], 8)):
    cases.define("Unbatch", [x, np.int64(index), np.array(number)], {}, None, name=name)
cases.write()
