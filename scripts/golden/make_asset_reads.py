"""Files that init operations read.

tf1-asset-reads       variables and tables that an init operation makes of files it reads itself
tf1-collected-tables  tables of a model without init operation, whose initializers are only in a collection
"""
import os
import shutil
import tempfile

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
from answers import answers, function_answers

PROVENANCE = ("Made by scripts/golden/make_asset_reads.py with TensorFlow %s on CPU, seeded random weights; answers by "
              "TensorFlow's session.  Apache-2.0, like the project." % tf.__version__)

v1 = tf.compat.v1
WORDS = "red\ngreen\nblue\n\nultraviolet\n"
WEIGHTS = np.random.default_rng(53).normal(size=[6, 3]).astype("<f4")


def asset(folder, name, data):
    """The constant path of a file that the model takes with it."""
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    tensor = tf.constant(path, name=name.partition(".")[0] + "_path")
    v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, tensor)
    return tensor


def collected_tables():
    folder = case.start("tf1-collected-tables")
    with tempfile.TemporaryDirectory() as files, tf.Graph().as_default(), v1.Session() as session:
        words = v1.placeholder(tf.string, [None], "words")
        lines = tf.lookup.TextFileInitializer(asset(files, "words.txt", b"red\ngreen\nblue\n"), tf.string, 0, tf.int64, -1)
        pairs = tf.lookup.KeyValueTensorInitializer(tf.constant([0, 2], tf.int64), ["zero", "two"])
        ids = tf.lookup.StaticHashTable(lines, -1).lookup(words)
        out = {"ids": ids, "names": tf.lookup.StaticHashTable(pairs, "other").lookup(ids)}
        builder = v1.saved_model.Builder(folder + "/model")
        builder.add_meta_graph_and_variables(
            session, ["serve"], {"serving_default": v1.saved_model.predict_signature_def({"words": words}, out)},
            assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS))
        builder.save()
    shutil.rmtree(folder + "/model/variables", ignore_errors=True)
    feeds = [{"words": case.strings(texts)} for texts in (["red"], ["blue", "green", "", "x"], [])]
    case.add_requests(folder, function_answers(folder + "/model", feeds))
    case.finish(folder, "tables whose initializers are only in a collection",
                PROVENANCE.replace("TensorFlow's session", "the function that tf.saved_model.load() gives"))


def asset_reads():
    folder = case.start("tf1-asset-reads")
    v1.disable_resource_variables()
    with tempfile.TemporaryDirectory() as files, tf.Graph().as_default(), v1.Session() as session:
        words = v1.placeholder(tf.string, [None], "words")
        lines = tf.strings.split([v1.read_file(asset(files, "words.txt", WORDS.encode()))], "\n").values
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(lines[:3], tf.cast(tf.range(3), tf.int64)), 3)
        weights = v1.get_variable("weights", initializer=tf.reshape(
            tf.io.decode_raw(v1.read_file(asset(files, "weights.bin", WEIGHTS.tobytes())), tf.float32), [-1, 3]), validate_shape=False,
            collections=[v1.GraphKeys.LOCAL_VARIABLES], use_resource=True)
        means = v1.get_variable("means", initializer=tf.strings.to_number(tf.strings.split(
            [v1.read_file(asset(files, "means.csv", b"0.5,-1,2e-1"))], ",").values), validate_shape=False,
            collections=[v1.GraphKeys.LOCAL_VARIABLES])
        init = tf.group(v1.local_variables_initializer(), v1.tables_initializer())
        session.run(init)
        ids = table.lookup(words)
        out = {"ids": ids, "rows": tf.gather(weights, ids) - means, "size": tf.shape(weights)}
        builder = v1.saved_model.Builder(folder + "/model")
        builder.add_meta_graph_and_variables(
            session, ["serve"], {"serving_default": v1.saved_model.predict_signature_def({"words": words}, out)},
            assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS), main_op=init)
        builder.save()
    shutil.rmtree(folder + "/model/variables", ignore_errors=True)
    feeds = [{"words": case.strings(texts)} for texts in (["red"], ["blue", "green", "", "x"], [])]
    case.add_requests(folder, answers(folder + "/model", feeds))
    case.finish(folder, "files that an init operation reads itself", PROVENANCE)


asset_reads()
collected_tables()
