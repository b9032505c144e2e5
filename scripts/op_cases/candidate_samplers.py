"""Classes that are sampled to be compared with the true ones: with given seeds TensorFlow's very ones."""
import numpy as np

from op_cases import Cases, tf

cases = Cases("candidate_samplers")
I64 = np.int64
SEEDS = {"seed": 7, "seed2": 11}
TRUE = I64([[0, 3], [9, 1], [2, 2]])
for op in ("UniformCandidateSampler", "LogUniformCandidateSampler"):
    for unique in (False, True):
        for sampled, limit in ((4, 10), (10, 10), (1, 16), (7, 64), (200, 1000), (300, 300), (5, 2**40 + 3), (60, 2**31)):
            # The C library's logarithms are TensorFlow's, but for its own build's.
            cases.add(op, {"true_classes": TRUE}, {"num_true": 2, "num_sampled": sampled, "unique": unique, "range_max": limit, **SEEDS}, rtol=1e-6)
        cases.add(op, {"true_classes": I64([[5]])}, {"num_true": 1, "num_sampled": 30, "unique": unique, "range_max": 100, "seed": 1, "seed2": 0}, rtol=1e-6)
        cases.add(op, {"true_classes": np.zeros([0, 2], I64)}, {"num_true": 2, "num_sampled": 3, "unique": unique, "range_max": 9, **SEEDS}, rtol=1e-6)
    cases.add(op, {"true_classes": TRUE}, {"num_true": 2, "num_sampled": 11, "unique": True, "range_max": 10, **SEEDS}, refuse=True)
    for wrong in (I64([1, 2]), I64([[1]])):
        cases.add(op, {"true_classes": wrong}, {"num_true": 2, "num_sampled": 3, "unique": True, "range_max": 10, **SEEDS}, refuse=True)
for unique in (False, True):
    cases.add("AllCandidateSampler", {"true_classes": TRUE}, {"num_true": 2, "num_sampled": 10, "unique": unique, **SEEDS})
for classes, sampled in ((TRUE, [2, 5, 9, 0, 2]), (TRUE, []), (np.zeros([0, 2], I64), [1, 2]), (TRUE, [77]), (I64([[-1, 2**62], [5, -1]]), [2**62, -1, -1, 4]),
                         (np.arange(40, dtype=I64).reshape(20, 2), np.arange(100)[::-3])):
    cases.add("ComputeAccidentalHits", {"true_classes": classes, "sampled_candidates": I64(sampled)}, {"num_true": 2})
for classes, sampled in ((I64([[1]]), [1]), (I64([1, 2]), [1]), (TRUE, [[1]])):
    cases.add("ComputeAccidentalHits", {"true_classes": classes, "sampled_candidates": I64(sampled)}, {"num_true": 2}, refuse=True)
cases.write()
