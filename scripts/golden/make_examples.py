"""A model that classifies and regresses serialized tf.Example records, as TensorFlow Serving's other two methods ask for.

tf1-examples  one placeholder of records; predict, classify (classes and scores, or scores alone) and regress signatures;
              examples.json has the records' features and the answers
"""
import json
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
from answers import answers

PROVENANCE = ("Made by scripts/golden/make_examples.py with TensorFlow %s on CPU, seeded random weights; answers by TensorFlow's "
              "session.  Apache-2.0, like the project." % tf.__version__)
v1 = tf.compat.v1
CLASSES = ["good", "bad", ""]


def build(folder):
    rng = np.random.default_rng(77)
    with v1.Graph().as_default(), v1.Session() as session:
        records = v1.placeholder(tf.string, [None], "records")
        parsed = v1.parse_example(records, {
            "x": tf.io.FixedLenFeature([3], tf.float32),
            "age": tf.io.FixedLenFeature([], tf.int64, default_value=30),
            "city": tf.io.FixedLenFeature([], tf.string, default_value="none")})
        paris = tf.cast(tf.equal(parsed["city"], "paris"), tf.float32)
        age = tf.cast(parsed["age"], tf.float32) / 100.0
        x = tf.concat([parsed["x"], age[:, None], paris[:, None]], 1)
        weights = v1.get_variable("weights", initializer=rng.normal(size=(5, 3)).astype("f4"))
        scores = tf.nn.softmax(tf.matmul(x, weights), name="scores")
        classes = tf.tile(tf.constant([CLASSES]), [tf.shape(records)[0], 1], name="classes")
        value = tf.reduce_sum(x * weights[:, 0], 1, keepdims=True, name="value")
        session.run(v1.global_variables_initializer())
        info = v1.saved_model.build_tensor_info

        def signature(outputs, method, inputs="inputs"):
            return v1.saved_model.build_signature_def({inputs: info(records)}, {k: info(v) for k, v in outputs.items()},
                                                      "tensorflow/serving/" + method)
        builder = v1.saved_model.Builder(folder + "/model")
        builder.add_meta_graph_and_variables(session, ["serve"], signature_def_map={
            "serving_default": signature({"scores": scores, "value": value}, "predict", "records"),
            "classify": signature({"classes": classes, "scores": scores}, "classify"),
            "scores": signature({"scores": scores}, "classify"),
            "regress": signature({"outputs": value}, "regress"),
            "odd": signature({"outputs": scores}, "regress")})
        builder.save()


def record(features):
    example = tf.train.Example()
    for name, value in features.items():
        if isinstance(value, str):
            example.features.feature[name].bytes_list.value.append(value.encode())
        elif isinstance(value, int):
            example.features.feature[name].int64_list.value.append(value)
        else:
            example.features.feature[name].float_list.value.extend(value)
    return example.SerializeToString(deterministic=True)


def main():
    folder = case.start("tf1-examples")
    build(folder)
    batches = [[{"x": [1.0, 2.0, 3.0]}], [{"x": [0.5, -1.0, 0.0], "age": 20, "city": "paris"}, {"x": [0.0, 0.0, 1.5], "city": "rome"}]]
    feeds = [{"records": case.strings([record(f) for f in batch])} for batch in batches]
    got = answers(folder + "/model", feeds)
    case.add_requests(folder, got)
    with open(folder + "/examples.json", "w") as file:
        json.dump([{"examples": batch, "classes": CLASSES, "scores": outputs["scores"].tolist(), "values": outputs["value"][:, 0].tolist()}
                   for batch, (_, outputs) in zip(batches, got)], file, indent=1)
        file.write("\n")
    case.finish(folder, "ParseExample; signatures whose methods are classify and regress", PROVENANCE)


main()
