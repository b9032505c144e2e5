"""tf1-example and keras2-mlp: plain TensorFlow models, of the first generation and of the second.

tf1-example  reference variables, a vocabulary file, an Assert, tf.Example or raw inputs (two signatures)
keras2-mlp   Keras 2: embeddings, hashing, batch norm, two outputs, functions inside functions
"""
import os
import shutil
import tempfile

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
from answers import answers, refusals

PROVENANCE = ("Made by scripts/golden/make_tensorflow.py with TensorFlow %s on CPU, seeded random weights; answers by "
              "TensorFlow's session.  Apache-2.0, like the project." % tf.__version__)


def example(age, words):
    feature = {"words": tf.train.Feature(bytes_list=tf.train.BytesList(value=words))}
    if age:
        feature["age"] = tf.train.Feature(float_list=tf.train.FloatList(value=age))
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def tf1_example():
    folder = case.start("tf1-example")
    rng = np.random.default_rng(21)
    words = ["red", "green", "blue", "gr\u00fcn"]
    with tempfile.TemporaryDirectory() as scratch, tf.Graph().as_default(), tf.compat.v1.Session() as session:
        vocabulary = os.path.join(scratch, "words.txt")
        open(vocabulary, "w").write("".join(w + "\n" for w in words))
        asset = tf.constant(vocabulary, name="vocabulary")
        tf.compat.v1.add_to_collection(tf.compat.v1.GraphKeys.ASSET_FILEPATHS, asset)
        table = tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(
            asset, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER), 4)
        serialized = tf.compat.v1.placeholder(tf.string, [None], "examples")
        parsed = tf.io.parse_example(serialized, {"age": tf.io.FixedLenFeature([], tf.float32, 18.0),
                                                  "words": tf.io.VarLenFeature(tf.string)})
        ids = table.lookup(parsed["words"].values)
        weights = tf.compat.v1.get_variable("weights", initializer=rng.normal(size=[5, 3]).astype("f4"), use_resource=False)
        pooled = tf.math.unsorted_segment_sum(tf.gather(weights, ids), parsed["words"].indices[:, 0],
                                              tf.shape(serialized)[0])
        with tf.control_dependencies([tf.compat.v1.assert_less(parsed["age"], 200.0)]):
            age = tf.identity(parsed["age"])
        kernel = tf.compat.v1.get_variable("kernel", initializer=rng.normal(size=[4, 2]).astype("f4"), use_resource=False)
        logits = tf.matmul(tf.concat([pooled, age[:, None] / 100.0], 1), kernel)
        score, label = tf.nn.softmax(logits), tf.argmax(logits, 1)
        session.run([tf.compat.v1.global_variables_initializer(), tf.compat.v1.tables_initializer()])
        builder = tf.compat.v1.saved_model.builder.SavedModelBuilder(folder + "/model")
        signature = tf.compat.v1.saved_model.predict_signature_def
        builder.add_meta_graph_and_variables(
            session, ["serve"], main_op=tf.compat.v1.tables_initializer(), strip_default_attrs=True,
            assets_collection=tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.ASSET_FILEPATHS),
            signature_def_map={
                "serving_default": signature({"examples": serialized}, {"score": score, "label": label}),
                "raw": signature({"words": parsed["words"].values, "rows": parsed["words"].indices, "age": parsed["age"],
                                  "examples": serialized}, {"score": score})})
        builder.save()
    examples = [example([30], [b"red"]), example([], []), example([64.5], ["gr\u00fcn".encode(), b"blue", b"none"]),
                example([1e-3], [b"red"] * 5)]
    feeds = [{"examples": case.strings(e)} for e in
             (examples[:1], examples[1:3], [examples[i % 4] for i in range(7)], [examples[i % 3] for i in range(64)])]
    case.add_requests(folder, answers(folder + "/model", feeds))
    bad = [[example([300], [b"red"])], [example([1], []), b"no example"], [example([1, 2], [])]]
    case.add_errors(folder, refusals(folder + "/model", [{"examples": case.strings(e)} for e in bad]))
    case.finish(folder, "reference variables, a vocabulary asset, ParseExample, an Assert behind Switch and Merge, a second "
                        "signature that feeds inside the graph", PROVENANCE, extra={"errors": "errors"})


def keras2_mlp():
    folder = case.start("keras2-mlp")
    tf.keras.utils.set_random_seed(22)
    rng = np.random.default_rng(22)
    ids = tf.keras.Input([2], dtype="int64", name="ids")
    city = tf.keras.Input([], dtype="string", name="city")
    numbers = tf.keras.Input([3], name="numbers")
    embedded = tf.keras.layers.Flatten()(tf.keras.layers.Embedding(50, 4)(ids))
    bucket = tf.keras.layers.Lambda(lambda x: tf.strings.to_hash_bucket_fast(x, 20), output_shape=())(city)
    place = tf.keras.layers.Embedding(20, 4)(bucket)
    hidden = tf.keras.layers.Concatenate()([embedded, place, numbers])
    for units in (16, 8):
        hidden = tf.keras.layers.Dense(units, "relu", bias_initializer="random_normal")(hidden)
        hidden = tf.keras.layers.BatchNormalization()(hidden)
    click = tf.keras.layers.Dense(1, "sigmoid", name="click")(hidden)
    amount = tf.keras.layers.Dense(1, name="amount")(hidden)
    model = tf.keras.Model([ids, city, numbers], {"click": click, "amount": amount})
    model.set_weights([w + rng.normal(size=w.shape) * 0.2 if w.min() >= 0 else w for w in model.get_weights()])
    model.set_weights([np.abs(w) + 0.5 if v.name.endswith("moving_variance:0") else w
                       for v, w in zip(model.weights, model.get_weights())])
    model.save(folder + "/model")
    for extra in ("keras_metadata.pb", "fingerprint.pb"):
        os.remove(os.path.join(folder, "model", extra))
    shutil.rmtree(folder + "/model/assets", ignore_errors=True)
    cities = np.array(["oslo", "rome", "", b"\xfe", "a city of a rather long name, longer than sixty-four bytes, to be sure"], object)
    feeds = [{"ids": rng.integers(0, 50, (b, 2)), "city": case.strings(rng.choice(cities, b)),
              "numbers": rng.normal(size=(b, 3)).astype("f4")} for b in (1, 2, 7, 64)]
    feeds.append({"ids": np.zeros((0, 2), np.int64), "city": case.strings(np.empty(0, object)),
                  "numbers": np.zeros((0, 3), np.float32)})
    case.add_requests(folder, answers(folder + "/model", feeds))
    case.add_errors(folder, refusals(folder + "/model", [
        {**feeds[1], "ids": np.int64([[0, 50], [1, 2]])},
        {**feeds[1], "city": case.strings(["one", "two", "three"])}]))
    case.finish(folder, "resource variables, functions inside functions, ResourceGather, string hashing, batch norm, two "
                        "outputs, an empty batch; as Keras wrote it, with all that an export carries", PROVENANCE, extra={"errors": "errors"}, whole=True)


keras2_mlp()
tf.compat.v1.disable_control_flow_v2()
tf1_example()
