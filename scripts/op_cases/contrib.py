"""Operators of tf.contrib.  Made with tensorflow 1.15 ('protobuf<3.20'), the last version that has it."""
import numpy as np
import tensorflow.contrib
from tensorflow.contrib.seq2seq.ops import gen_beam_search_ops
from tensorflow.python.framework import op_def_registry

op_def_registry.get = op_def_registry.get_registered_ops().get

from op_cases import Cases, tf

cases = Cases("contrib")


def tree(ids, parents, lengths, end=9, **more):
    cases.add("GatherTree", {"step_ids": np.int32(ids), "parent_ids": np.int32(parents), "max_sequence_lengths": np.int32(lengths),
                             "end_token": np.int32(end)}, maker=gen_beam_search_ops.gather_tree, **more)


for seed in range(4):
    shape = [(4, 2, 3), (1, 3, 2), (7, 1, 5), (5, 4, 1)][seed]
    random = np.random.RandomState(seed)
    tree(random.randint(0, 10, shape), random.randint(0, shape[2], shape), random.randint(0, shape[0] + 2, shape[1]))
tree(np.zeros((0, 2, 3)), np.zeros((0, 2, 3)), [1, 2], name="no steps")
tree(np.zeros((2, 0, 3)), np.zeros((2, 0, 3)), [], name="no rows")
tree(np.zeros((3, 1, 2)), np.full((3, 1, 2), -1), [3], refuse=True, name="no such parent")
tree(np.zeros((3, 1, 2)), np.full((3, 1, 2), 5), [3], refuse=True, name="parent outside")
tree(np.zeros((3, 1, 2)), np.full((3, 1, 2), 5), [1], name="parent of the first step")
tree(np.zeros((3, 1, 2)), np.zeros((3, 1, 3)), [3], refuse=True, name="shapes")
tree(np.zeros((3, 1, 2)), np.zeros((3, 1, 2)), [3, 1], refuse=True, name="lengths")
tree(np.zeros((3, 2)), np.zeros((3, 2)), [3, 1], refuse=True, name="matrix")
cases.write()
