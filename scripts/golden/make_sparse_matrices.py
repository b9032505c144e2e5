"""Sparse matrices as one value (CSRSparseMatrix).

tf2-sparse-matrices        made, multiplied, transposed, taken apart; single ones and batches
tf2-sparse-matrix-errors   what may go wrong with them, one of it per request
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
from answers import answers

PROVENANCE = ("Made by scripts/golden/make_sparse_matrices.py with TensorFlow %s on CPU; answers by TensorFlow's session.  "
              "Apache-2.0, like the project." % tf.__version__)

raw = tf.raw_ops
TYPES = {"f32": tf.float32, "f64": tf.float64, "c64": tf.complex64, "c128": tf.complex128}


def from_dense(dense):
    return raw.DenseToCSRSparseMatrix(dense_input=dense, indices=tf.where(tf.not_equal(dense, 0)))


def to_dense(matrix, dtype):
    return raw.CSRSparseMatrixToDense(sparse_input=matrix, type=dtype)


def real(x):
    """What a message can hold of it."""
    return tf.concat([tf.math.real(x), tf.math.imag(x)], -1) if x.dtype.is_complex else x


def serve_type(name, dtype, a, b, out):
    """a and b [(batch,) m, n], of like shapes."""
    if dtype.is_complex:
        a, b = tf.complex(a, b * 0.5), tf.complex(b, -a)
    a, b = tf.cast(a, dtype), tf.cast(b, dtype)
    sparse_a, sparse_b = from_dense(a), from_dense(b)

    def note(what, x):
        out["%s_%s" % (name, what)] = real(x)

    for key in ("transpose", "adjoint"):
        note("dense_%s_a" % key, raw.SparseMatrixMatMul(a=sparse_a, b=b, **{key + "_a": True}))
        note("dense_%s_b" % key, raw.SparseMatrixMatMul(a=sparse_a, b=b, **{key + "_b": True}))
        note("sparse_%s_a" % key, to_dense(raw.SparseMatrixSparseMatMul(a=sparse_a, b=sparse_b, type=dtype, **{key + "_a": True}), dtype))
        note("sparse_%s_b" % key, to_dense(raw.SparseMatrixSparseMatMul(a=sparse_a, b=sparse_b, type=dtype, **{key + "_b": True}), dtype))
    turned = raw.SparseMatrixTranspose(input=sparse_b, conjugate=True, type=dtype)
    note("turned", to_dense(turned, dtype))
    note("turned_only", to_dense(raw.SparseMatrixTranspose(input=sparse_b, type=dtype), dtype))
    product = raw.SparseMatrixSparseMatMul(a=sparse_a, b=turned, type=dtype)
    note("product", to_dense(product, dtype))
    note("nnz", raw.SparseMatrixNNZ(sparse_matrix=product))
    indices, values, shape = raw.CSRSparseMatrixToSparseTensor(sparse_matrix=product, type=dtype)
    note("indices", indices)
    note("values", values)
    note("shape", shape)
    back = raw.SparseTensorToCSRSparseMatrix(indices=indices, values=values, dense_shape=shape)
    note("back", to_dense(back, dtype))
    for part, x in zip(("rows", "columns", "parts"), raw.CSRSparseMatrixComponents(csr_sparse_matrix=back, index=0, type=dtype)):
        note(part, x)
    note("out_transposed", raw.SparseMatrixMatMul(a=sparse_a, b=b, transpose_b=True, transpose_output=True))
    note("out_conjugate", raw.SparseMatrixMatMul(a=sparse_a, b=b, transpose_b=True, conjugate_output=True))
    note("out_both", raw.SparseMatrixMatMul(a=sparse_a, b=b, adjoint_a=True, conjugate_output=True, transpose_output=True))
    note("nnz_a", raw.SparseMatrixNNZ(sparse_matrix=sparse_a))


@tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32, "a"), tf.TensorSpec([None, None], tf.float32, "b"),
                              tf.TensorSpec([None, None, None], tf.float32, "c"), tf.TensorSpec([None, None, None], tf.float32, "d"),
                              tf.TensorSpec([None], tf.int64, "twice")], autograph=False)
def serve(a, b, c, d, twice):
    out = {}
    for name, dtype in TYPES.items():
        serve_type(name, dtype, a, b, out)
        serve_type("batch_" + name, dtype, c, d, out)
    # Values in one place: the last one stays, products add them up.
    places = tf.stack([tf.zeros_like(twice), twice], 1)
    often = raw.SparseTensorToCSRSparseMatrix(indices=places, values=tf.cast(tf.range(1, tf.size(twice) + 1), tf.float32), dense_shape=[2, 4])
    out["often"] = to_dense(often, tf.float32)
    out["often_nnz"] = raw.SparseMatrixNNZ(sparse_matrix=often)
    out["often_product"] = raw.SparseMatrixMatMul(a=often, b=tf.ones([4, 2]))
    return out


def branches(x, i):
    """x [2, 3] float32, i scalar int32.  Each is fine for i = 1 and some are wrong for another."""
    matrix = from_dense(x)
    long = tf.cast(i, tf.int64)
    wide = tf.concat([x, x], 1)[:, :i + 2]
    several = tf.tile(x[None], [i + 1, 1, 1])

    def total(m):
        return tf.reduce_sum(to_dense(m, tf.float32))

    def sparse(indices, shape):
        return raw.SparseTensorToCSRSparseMatrix(indices=indices, values=tf.ones(tf.shape(indices)[0]), dense_shape=shape)

    return [
        lambda: tf.reduce_sum(raw.SparseMatrixMatMul(a=from_dense(wide), b=x, transpose_b=True)),
        lambda: total(raw.SparseMatrixSparseMatMul(a=from_dense(wide), b=matrix, transpose_b=True, type=tf.float32)),
        lambda: tf.reduce_sum(raw.CSRSparseMatrixComponents(csr_sparse_matrix=matrix, index=i - 1, type=tf.float32)[2]),
        lambda: total(sparse([[0, 0], [1, long]], [2, 2])),
        lambda: total(sparse([[0, 0], [long, 0]], [2, 2])),
        lambda: total(raw.DenseToCSRSparseMatrix(dense_input=x, indices=[[0, 0], [1, long + 1]])),
        lambda: tf.reduce_sum(raw.SparseMatrixMatMul(a=from_dense(tf.tile(x[None], [2, 1, 1])), b=several, transpose_b=True)),
        lambda: total(raw.SparseMatrixSparseMatMul(a=from_dense(tf.tile(x[None], [2, 1, 1])), b=from_dense(several), transpose_b=True, type=tf.float32)),
    ]


@tf.function(input_signature=[tf.TensorSpec([2, 3], tf.float32, "x"), tf.TensorSpec([], tf.int32, "i"), tf.TensorSpec([], tf.int32, "which")],
             autograph=False)
def serve_errors(x, i, which):
    return {"y": tf.switch_case(which, branches(x, i))}


def matrices():
    folder = case.start("tf2-sparse-matrices")
    case.save_function(folder, serve)
    rng = np.random.default_rng(48)

    def some(*shape, share=0.5):
        return (rng.integers(-4, 5, shape) / 2 * (rng.uniform(size=shape) < share)).astype("f4")

    feeds = [{"a": some(*shape), "b": some(*shape), "c": some(*batch), "d": some(*batch), "twice": np.int64(twice)}
             for shape, batch, twice in (((3, 4), (2, 3, 2), (1, 1, 3)), ((1, 1), (3, 1, 1), (0,)), ((5, 2), (1, 2, 5), (2, 0, 2, 2)), ((4, 4), (2, 4, 4), ()))]
    feeds.append({"a": some(3, 3, share=0), "b": some(3, 3), "c": some(2, 2, 2, share=0), "d": some(2, 2, 2), "twice": np.int64([3])})
    case.add_requests(folder, answers(folder + "/model", feeds))
    case.finish(folder, "sparse matrices as one value: made, multiplied, transposed, taken apart", PROVENANCE)


def errors():
    folder = case.start("tf2-sparse-matrix-errors")
    case.save_function(folder, serve_errors)
    case.add_tried(folder, [{"x": np.float32([[0.5, 0, -1], [2, 3, 0]]), "i": np.int32(i), "which": np.int32(which)}
                            for which in range(len(branches(tf.ones([2, 3]), tf.constant(1)))) for i in (1, 0, 2)])
    case.finish(folder, "sparse matrices refuse what TensorFlow refuses", PROVENANCE, extra={"errors": "errors"})


matrices()
errors()
