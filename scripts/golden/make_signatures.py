"""Signatures that say more than one dense tensor per name.

tf1-signatures  a sparse placeholder, a sparse output
tf2-signatures  outputs that are ragged or sparse; inputs that have a value when a request gives none
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

import case
from answers import answers

PROVENANCE = ("Made by scripts/golden/make_signatures.py with TensorFlow %s on CPU, seeded random weights; answers by TensorFlow's "
              "session, which is fed what the signature gives as defaults.  Apache-2.0, like the project." % tf.__version__)
v1 = tf.compat.v1


def set_defaults(path, defaults):
    """As TensorFlow Serving has them; TensorFlow 2.15 itself writes none."""
    model = SavedModel()
    with open(path, "rb") as file:
        model.ParseFromString(file.read())
    for alias, value in defaults.items():
        model.meta_graphs[0].signature_def["serving_default"].defaults[alias].CopyFrom(tf.make_tensor_proto(value))
    with open(path, "wb") as file:
        file.write(model.SerializeToString(deterministic=True))


def finish(folder, feeds, covers, in_json=True):
    case.add_requests(folder, answers(folder + "/model", feeds), in_json)
    case.finish(folder, covers, PROVENANCE)


def first_generation():
    folder = case.start("tf1-signatures")
    rng = np.random.default_rng(51)
    with v1.Graph().as_default(), v1.Session() as session:
        ids = v1.sparse_placeholder(tf.int64, [None, None], "ids")
        table = v1.get_variable("table", initializer=rng.normal(size=(20, 3)).astype("f4"))
        sums = tf.nn.embedding_lookup_sparse(table, ids, None, combiner="sum")
        doubled = tf.SparseTensor(ids.indices, tf.cast(ids.values, tf.float32) * 2.0, ids.dense_shape)
        session.run(v1.global_variables_initializer())
        info = v1.saved_model.build_tensor_info
        builder = v1.saved_model.Builder(folder + "/model")
        builder.add_meta_graph_and_variables(session, ["serve"], signature_def_map={
            "serving_default": v1.saved_model.build_signature_def(
                {"ids": info(ids)}, {"sums": info(sums), "doubled": info(doubled)}, "tensorflow/serving/predict")})
        builder.save()
    feeds = []
    for rows in (1, 3, 8):
        cells = np.argwhere(rng.random((rows, 5)) < 0.6)
        cells = np.concatenate([cells, [[row, 5] for row in range(rows)]])
        cells = cells[np.lexsort((cells[:, 1], cells[:, 0]))].astype("i8")
        feeds.append({"ids/indices": cells, "ids/values": rng.integers(0, 20, len(cells)),
                      "ids/shape": np.array([rows, 6], "i8")})
    finish(folder, feeds, "a signature whose input and one of whose outputs are sparse tensors")


class Second(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.table = tf.Variable(rng.normal(size=(10, 3)).astype("f4"))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64, "ids"), tf.TensorSpec([None], tf.int64, "lengths"),
                                  tf.TensorSpec([], tf.float32, "scale"), tf.TensorSpec([2], tf.string, "names")])
    def serve(self, ids, lengths, scale, names):
        rows = tf.RaggedTensor.from_row_lengths(ids, lengths)
        return {"rows": rows, "cells": rows.to_sparse(), "scaled": tf.gather(self.table, ids) * scale,
                "nested": tf.RaggedTensor.from_row_lengths(rows, [rows.nrows()]), "joined": tf.strings.join(tf.unstack(names), "-")}


def second_generation():
    folder = case.start("tf2-signatures")
    rng = np.random.default_rng(52)
    module = Second(rng)
    case.save(folder, module, module.serve)
    set_defaults(folder + "/model/saved_model.pb", {"scale": np.float32(0.25), "names": ["left", "right"]})
    feeds = []
    for number, lengths in enumerate(([2], [0, 3], [1, 0, 4, 2])):
        feed = {"ids": rng.integers(0, 10, sum(lengths)), "lengths": np.array(lengths, "i8")}
        if number == 1:
            feed["scale"] = np.array(-2, "f4")
        if number == 2:
            feed["names"] = case.strings(["a", "b"])
        feeds.append(feed)
    # Its REST interface wants every input, defaults or not.
    finish(folder, feeds, "outputs that are ragged or sparse tensors; inputs with defaults, given and not", in_json=False)


first_generation()
second_generation()
