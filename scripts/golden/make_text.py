"""Graphs as protobuf text.

tf1-text        a SavedModel that its builder wrote as text: a partitioned variable, a table that an asset fills
tf2-text        one of the second generation, turned into text: an object graph, functions
tf1-text-graph  a frozen graph, as graph.pbtxt
"""
import os
import shutil
import tempfile

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

import case
from answers import answers, function_answers
from prune import prune

v1 = tf.compat.v1
PROVENANCE = ("Made by scripts/golden/make_text.py with TensorFlow %s on CPU, seeded random weights; answers by TensorFlow.  "
              "Apache-2.0, like the project." % tf.__version__)


def requests(rng):
    words = np.array(["red", "gr\u00fcn", "blue \"sky\"", "", "none"], object)
    return [{"words": case.strings(rng.choice(words, batch)), "x": rng.normal(size=(batch, 3)).astype("f4")} for batch in (1, 4, 9)]


def scores(words, x, rng):
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(
        ["red", "gr\u00fcn", "blue \"sky\""], tf.constant([0, 1, 2], tf.int64)), 3)
    kernel = v1.get_variable("kernel", initializer=rng.normal(size=(3, 4)).astype("f4"))
    rows = v1.get_variable("rows", initializer=v1.random_normal_initializer(seed=5), shape=[4, 4],
                           partitioner=v1.fixed_size_partitioner(2), use_resource=False)
    limits = tf.constant([np.inf, 1e-30, -2.5, 0.1], tf.float32)
    picked = tf.gather(tf.convert_to_tensor(rows), table.lookup(words))
    return tf.minimum(tf.matmul(x, kernel) + picked, limits, name="scores")


def first_generation():
    folder = case.start("tf1-text")
    rng = np.random.default_rng(61)
    with tempfile.TemporaryDirectory() as elsewhere, v1.Graph().as_default(), v1.Session() as session:
        words, x = v1.placeholder(tf.string, [None], "words"), v1.placeholder(tf.float32, [None, 3], "x")
        out = scores(words, x, rng)
        path = os.path.join(elsewhere, "vocabulary.txt")
        with open(path, "w") as file:
            file.write("none\nred\n")
        known = v1.lookup.StaticHashTable(v1.lookup.TextFileInitializer(path, tf.string, -2, tf.int64, -1), 7).lookup(words)
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        builder = v1.saved_model.Builder(folder + "/model")
        builder.add_meta_graph_and_variables(
            session, ["serve"], assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
            main_op=v1.tables_initializer(), strip_default_attrs=True, signature_def_map={
                "serving_default": v1.saved_model.predict_signature_def({"words": words, "x": x}, {"scores": out, "known": known})})
        builder.save(as_text=True)
    case.add_requests(folder, answers(folder + "/model", requests(rng)))
    case.finish(folder, "a SavedModel as text: saved_model.pbtxt", PROVENANCE)


class Second(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.kernels = [tf.Variable(rng.normal(size=(3, 3)).astype("f4")) for _ in range(2)]

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "x")])
    def serve(self, x):
        for kernel in self.kernels:
            x = tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.tanh(x @ kernel), lambda: x + 1.5)
        return {"y": x}


def second_generation():
    folder = case.start("tf2-text")
    rng = np.random.default_rng(62)
    module = Second(rng)
    path = folder + "/model/saved_model.pb"
    tf.saved_model.save(module, folder + "/model", signatures=module.serve)
    os.remove(folder + "/model/fingerprint.pb")
    shutil.rmtree(folder + "/model/assets", ignore_errors=True)
    feeds = [{"x": rng.normal(size=(batch, 3)).astype("f4")} for batch in (1, 4, 9)]
    case.add_requests(folder, function_answers(folder + "/model", feeds))
    prune(path)
    model = SavedModel()
    with open(path, "rb") as file:
        model.ParseFromString(file.read())
    with open(path + "txt", "w") as file:
        file.write(text_format.MessageToString(model, as_one_line=True))
    os.remove(path)
    case.finish(folder, "a SavedModel with an object graph as text", PROVENANCE)


def graph():
    folder = case.start("tf1-text-graph")
    rng = np.random.default_rng(63)
    os.makedirs(folder + "/model")
    with v1.Graph().as_default() as g, v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 3], "x")
        kernel = v1.get_variable("kernel", initializer=rng.normal(size=(3, 4)).astype("f4"))
        y = tf.nn.softmax(tf.matmul(x, kernel), name="y")
        session.run(v1.global_variables_initializer())
        feeds = [{"x": rng.normal(size=(batch, 3)).astype("f4")} for batch in (1, 4, 9)]
        case.add_requests(folder, [(feed, {"y": session.run(y, {x: feed["x"]})}) for feed in feeds])
        constant = v1.graph_util.convert_variables_to_constants(session, g.as_graph_def(), ["y"])
    tf.io.write_graph(constant, folder + "/model", "graph.pbtxt", as_text=True)
    case.finish(folder, "a frozen graph as text: graph.pbtxt", PROVENANCE, config={
        "graph_file": "graph.pbtxt", "signature_name": "from_names", "input_names": "x", "output_names": "y"})


first_generation()
second_generation()
graph()
