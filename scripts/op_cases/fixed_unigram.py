"""Classes with weights of their own that are sampled, of lists and of files; true classes that are none."""
import os
import tempfile

import numpy as np

from op_cases import Cases

I64 = np.int64
SEEDS = {"seed": 7, "seed2": 11}
OP = "FixedUnigramCandidateSampler"
folder = tempfile.mkdtemp()
files = {}


class WithFile:
    """A node as it is once its file has been read."""

    def __init__(self, node):
        self.graph, self.inputs, self.node_def = node.graph, node.inputs, node.node_def
        if "vocab_file" in self.node_def.attr:
            attr = self.node_def.attr["vocab_file"]
            attr.s = b"bytes://" + files[attr.s.decode()] if attr.s else b""


class FileCases(Cases):
    def _record(self, op, name, node, *rest):
        super()._record(op, name, WithFile(node), *rest)


cases = FileCases("fixed_unigram")


def file_of(data):
    path = os.path.join(folder, str(len(files)))
    with open(path, "wb") as file:
        file.write(data)
    files[path] = data
    return path


def sample(classes, sampled, unique, limit, name="", refuse=False, **attrs):
    # The C library's powers and logarithms are TensorFlow's, but for its own build's.
    cases.add(OP, {"true_classes": I64(classes)}, {"num_true": np.shape(classes)[-1] if np.ndim(classes) == 2 else 2, "num_sampled": sampled, "unique": unique, "range_max": limit,
                                                   **SEEDS, **attrs}, name=name, refuse=refuse, rtol=0 if refuse else 1e-6)


TRUE = [[0, 3], [4, 1], [2, 2]]
rng = np.random.default_rng(1210)
for unique in (False, True):
    for weights in ([1, 1, 1, 1, 1], [1, 2, 3, 4, 5], [0.5, 0, 7.25, 1e-3, 2], [100, 1, 1, 1, 1], [3, 3, 3, 1e-9, 1e3], list(rng.uniform(0, 9, 64)), list(rng.zipf(1.7, 300) % 10000), [1] * 1000):
        for distortion in (1.0, 0.75, 0.0, 2.0):
            sample(TRUE, 3, unique, len(weights), unigrams=[float(w) for w in weights], distortion=distortion)
        if len(weights) > 5:
            sample(TRUE, 40, unique, len(weights), unigrams=[float(w) for w in weights], name="many")
    for reserved in (1, 3):
        sample(TRUE, 2, unique, 5 + reserved, unigrams=[1.0, 2.0, 3.0, 4.0, 5.0], num_reserved_ids=reserved, name="reserved")
        for shards in (2, 3):
            for shard in range(shards):
                low = sum(i % shards == shard for i in range(reserved))
                count = low + sum((low + i) % shards == shard for i in range(8))
                for limit in range(2, 7):
                    sample([[0, 1]], 2, unique, limit, unigrams=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], num_reserved_ids=reserved, num_shards=shards, shard=shard,
                           name="shards", refuse=limit != count)
    for data in (b"a,1\nb,2\nc,3\nd,4\ne,5\n", b"1\n2\n3\n4\n5", b"a,b,1\r\n\r\nx,y,z,2\r\n\n3\n,4\n, 5 \n", b"a,1e1\nb,.5\nc,+3\nd,0x4\ne,1e-2\n", b"\r1\n2\r\r\n3\n\r\n4\n5\n\r"):
        for distortion in (1.0, 0.75):
            sample(TRUE, 4, unique, 5, vocab_file=file_of(data), distortion=distortion, name="file")
    sample([[0]], 1, unique, 2, vocab_file=file_of(b"a,1\nb,bad\nc,3\nd,4,worse\n"), num_shards=2, shard=0, name="another shard's line")
sample(np.zeros([0, 2]), 3, True, 5, unigrams=[1.0] * 5, name="no true classes")
for name, attrs in (("both", {"unigrams": [1.0] * 5, "vocab_file": file_of(b"1\n1\n1\n1\n1\n")}), ("none", {}), ("less", {"unigrams": [1.0] * 4}), ("more", {"unigrams": [1.0] * 6}),
                    ("fewer lines", {"vocab_file": file_of(b"1\n1\n1\n1\n")}), ("more lines", {"vocab_file": file_of(b"1\n1\n1\n1\n1\n1\n")}), ("no number", {"vocab_file": file_of(b"1\n1\nx\n1\n1\n")}),
                    ("nothing behind", {"vocab_file": file_of(b"1\n1\nx,\n1\n1\n")}), ("an empty file", {"vocab_file": file_of(b"")}), ("within a line", {"vocab_file": file_of(b"1\r0\n2\n3\n4\n5\n")}),
                    ("two at the end", {"vocab_file": file_of(b"1\n2\n3\n4\n5\n\r\r")})):
    sample(TRUE, 3, True, 5, refuse=True, name=name, **attrs)
sample(TRUE, 6, True, 5, refuse=True, name="too many", unigrams=[1.0] * 5)
for classes in ([1, 2], [[0, 5]], [[-1, 0]]):
    sample(classes, 3, True, 5, refuse=True, name="true classes", unigrams=[1.0] * 5)
for op, attrs in (("UniformCandidateSampler", {"range_max": 5}), ("LogUniformCandidateSampler", {"range_max": 5}), ("AllCandidateSampler", {})):
    for classes in ([[0, 5]], [[-1, 0]], [[0, 4]]):
        cases.add(op, {"true_classes": I64(classes)}, {"num_true": 2, "num_sampled": 5, "unique": True, **attrs, **SEEDS}, refuse=classes != [[0, 4]], rtol=1e-6)
cases.write()
