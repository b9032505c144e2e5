"""XLA's operators in graphs that are not for XLA alone: slices whose starts are moved to where they fit, notes for its compiler."""
import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops

from op_cases import Cases

cases = Cases("xla")

DTYPES = [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16,
          tf.uint32, tf.uint64, tf.bool, tf.complex64, tf.complex128]
INDICES = [np.int32, np.int64]
STARTS = [(), (0,), (2,), (9,), (-4,), (1, 2), (0, 3), (-1, 7), (1, 1, 1), (9, -9, 9)]


def of(dtype, *shape, first=1):
    numbers = np.arange(first, first + int(np.prod(shape))).reshape(shape) % 100
    return (numbers % 3 == 0 if dtype == tf.bool else numbers), dtype


def cut(tensor, starts, sizes, index=np.int32, **how):
    cases.add("XlaDynamicSlice", {"input": tensor, "start_indices": np.array(starts, index), "size_indices": np.array(sizes, index)},
              maker=gen_xla_ops.xla_dynamic_slice, **how)


def update(tensor, part, starts, index=np.int32, **how):
    cases.add("XlaDynamicUpdateSlice", {"input": tensor, "update": part, "indices": np.array(starts, index)},
              maker=gen_xla_ops.xla_dynamic_update_slice, **how)


for dtype in DTYPES:
    cut(of(dtype, 3, 4), [1, 9], [2, 2])
    update(of(dtype, 3, 4), of(dtype, 2, 2, first=50), [1, 1])
for index in INDICES:
    for starts in STARTS:
        rank = len(starts)
        shape = (3, 4, 5)[:rank]
        for sizes in [(1,) * rank, (2, 3, 1)[:rank], shape]:
            cut(of(tf.float32, *shape), starts, sizes, index)
            update(of(tf.float32, *shape), of(tf.float32, *sizes, first=70), starts, index)
cut(of(tf.int32, 3, 4), [1, 1], [2, 0])
cut(of(tf.int32, 0, 4), [1, 1], [0, 2])
update(of(tf.int32, 3, 4), of(tf.int32, 2, 0), [1, 1])
update(of(tf.int32, 0, 4), of(tf.int32, 0, 2), [1, 1])
for extreme in (-2**31, 2**31 - 1):
    cut(of(tf.int32, 6), [extreme], [2])
    update(of(tf.int32, 6), of(tf.int32, 2, first=50), [extreme])

for starts, sizes in [([0, 0], [4, 1]), ([0, 0], [1, -2])]:
    cut(of(tf.float32, 3, 4), starts, sizes, refuse=True)
for part, starts in [((1, 1), [0]), ((1,), [0, 0]), ((4, 1), [0, 0]), ((1, 5), [0, 0]), ((1, 1), 0)]:
    update(of(tf.float32, 3, 4), of(tf.float32, *part), starts, refuse=True)

# On these TensorFlow itself ends.
types = {"T": tf.float32, "Tindices": tf.int32}
table, one = np.zeros((3, 4), np.float32), np.zeros((1, 1), np.float32)
for starts, sizes in [([0], [1, 1]), ([0, 0], [1]), ([[0, 0]], [1, 1]), (0, [1, 1]), ([0, 0], [[1, 1]]), ([0, 0], [-2**31, 1])]:
    cases.define("XlaDynamicSlice", [table, np.array(starts, np.int32), np.array(sizes, np.int32)], types, None)
cases.define("XlaDynamicUpdateSlice", [table, one, np.array([[0, 0]], np.int32)], types, None)

# ------------------------------------------------------- notes for the compiler

for dtype in DTYPES:
    cases.add("XlaSharding", {"input": of(dtype, 2, 3)}, {"sharding": b"\x08\x00"}, maker=gen_xla_ops.xla_sharding)
cases.add("XlaSharding", {"input": of(tf.float32)}, maker=gen_xla_ops.xla_sharding)
cases.add("XlaSharding", {"input": of(tf.float32, 0, 3)}, maker=gen_xla_ops.xla_sharding)
for inputs in [[of(dtype, 2) for dtype in DTYPES], [of(tf.int32), of(tf.float32, 0, 2)]]:
    cases.add("XlaOptimizationBarrier", {"input": inputs}, maker=gen_xla_ops.xla_optimization_barrier)

cases.write()
