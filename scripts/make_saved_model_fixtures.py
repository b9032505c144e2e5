"""Makes tests/golden/saved_models with TensorFlow 2.15: small, but with all parts.

    python scripts/make_saved_model_fixtures.py
"""
import os
import shutil
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

v1 = tf.compat.v1
HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "tests", "golden", "saved_models")


def fresh(name):
    path = os.path.join(GOLDEN, name)
    shutil.rmtree(path, ignore_errors=True)
    return path


def vocabulary(folder):
    path = os.path.join(folder, "words.txt")
    with open(path, "w") as out:
        out.write("red\ngreen\nblue\n")
    return path


def first_generation(folder):
    """Two metagraphs, a partitioned variable, a table that an asset fills, two signatures."""
    builder = v1.saved_model.Builder(fresh("v1"))
    with v1.Graph().as_default(), v1.Session() as session:
        words = v1.placeholder(tf.string, [None], name="words")
        table = v1.lookup.StaticVocabularyTable(
            v1.lookup.TextFileInitializer(vocabulary(folder), tf.string, v1.lookup.TextFileIndex.WHOLE_LINE,
                                          tf.int64, v1.lookup.TextFileIndex.LINE_NUMBER), 1)
        weights = v1.get_variable("weights", initializer=tf.range(8.0) / 4,
                                  partitioner=v1.fixed_size_partitioner(2), use_resource=False)
        ids = tf.identity(table.lookup(words), name="ids")
        scores = tf.identity(tf.gather(tf.convert_to_tensor(weights), ids), name="scores")
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        info = v1.saved_model.build_tensor_info
        signature = v1.saved_model.build_signature_def
        predict = "tensorflow/serving/predict"
        builder.add_meta_graph_and_variables(
            session, ["train"], signature_def_map={"train": signature({}, {}, predict)})
        builder.add_meta_graph(
            ["serve"],
            signature_def_map={
                "serving_default": signature({"words": info(words)}, {"scores": info(scores)}, predict),
                "ids": signature({"words": info(words)}, {"ids": info(ids)}, predict)},
            assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
            main_op=v1.tables_initializer())
        builder.save()


class Second(tf.Module):
    """A variable, a table filled from an asset, functions that call functions, If and While."""

    def __init__(self, folder):
        super().__init__()
        self.weights = tf.Variable(tf.range(4.0) / 4, name="weights")
        self.table = tf.lookup.StaticVocabularyTable(
            tf.lookup.TextFileInitializer(vocabulary(folder), tf.string, tf.lookup.TextFileIndex.WHOLE_LINE,
                                          tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER), 1)

    @tf.function
    def halve_until_small(self, x):
        return tf.while_loop(lambda v: tf.reduce_max(v) > 1.0, lambda v: [v / 2], [x])[0]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "words"),
                                  tf.TensorSpec([], tf.bool, "small")])
    def score(self, words, small):
        scores = tf.gather(self.weights, self.table.lookup(words))
        scores = tf.cond(small, lambda: self.halve_until_small(scores), lambda: scores)
        return {"scores": scores, "count": tf.size(words)}


def second_generation(folder):
    module = Second(folder)
    tf.saved_model.save(module, fresh("v2"), signatures=module.score)
    for extra in ("fingerprint.pb", "assets.extra"):
        path = os.path.join(GOLDEN, "v2", extra)
        if os.path.isfile(path):
            os.remove(path)


with tempfile.TemporaryDirectory() as folder:
    first_generation(folder)
    second_generation(folder)
