"""Cross entropies of float32 logits and their gradients to the last bit, from short rows to rows longer than a task."""
import numpy as np

from op_cases import Cases

rng = np.random.default_rng(42)
cases = Cases("cross_entropy_bits")


def normal(shape, scale=3):
    return (rng.standard_normal(shape) * scale).astype(np.float32)


DENSE, SPARSE = "SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits"
SHAPES = [(1, 1), (1, 7), (3, 1), (2, 3), (5, 8), (7, 9), (64, 8), (33, 17), (9, 40), (3, 75), (2, 1000), (903, 5), (1, 4507), (2, 4601)]
for shape in SHAPES:
    logits, labels = normal(shape), np.abs(normal(shape, 1))
    if logits.size < 1000:
        cases.add(DENSE, {"features": logits, "labels": labels}, name=str(list(shape)))
    cases.add(DENSE, {"features": logits, "labels": labels / labels.sum(1, keepdims=True)}, name="%s, shares" % list(shape))
    which = rng.integers(0, shape[1], shape[0])
    cases.add(SPARSE, {"features": logits, "labels": which}, name=str(list(shape)))
    cases.add(SPARSE, {"features": logits * np.float32(12), "labels": which.astype(np.int32)}, name="%s, far apart" % list(shape))
for logits, labels in (((7, 9), (1, 9)), ((1, 9), (7, 9)), ((7, 1), (7, 9)), ((7, 9), (7, 1)), ((1, 9), (7, 1)), ((650, 7), (1, 7))):
    cases.add(DENSE, {"features": normal(logits), "labels": np.abs(normal(labels, 1))}, name="%s and %s" % (list(logits), list(labels)))
odd = np.float32([[0, 1, 2], [np.inf, 1, 2], [-np.inf, 1, 2], [-np.inf, -np.inf, -np.inf], [np.nan, 1, 2], [0, 200, -200], [-0.0, -0.0, 0]])
cases.add(DENSE, {"features": odd, "labels": np.float32([[0.5, 0.25, 0.25]])}, name="odd")
cases.add(DENSE, {"features": odd, "labels": np.float32([[0, 1, 0]])}, name="odd, one label")
for label in range(3):
    cases.add(SPARSE, {"features": odd, "labels": np.full(7, label)}, name="odd, %d" % label)
for width in (7, 6957):
    cases.add("Softmax", {"logits": normal((3, width))}, name="%d wide" % width)
cases.write()
