"""keras2-bfloat16, keras2-half: towers of mixed precision, whose layers compute in bfloat16 or half.

TensorFlow runs without oneDNN, as for the other models: a product of bfloat16 is one of floats that is cut off, one of
half rounds every product and sum, and each step after it rounds.
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import shutil

import numpy as np
import tensorflow as tf

import case
from answers import answers

keras, layers = tf.keras, tf.keras.layers


def build():
    numbers = keras.Input([12], name="numbers")
    ids = keras.Input([6], dtype=tf.int64, name="ids")
    history = layers.Embedding(50, 8)(ids)
    outputs = [layers.GlobalAveragePooling1D()(history), tf.reduce_mean(history, -1)]
    for activation in ("relu", "sigmoid", "tanh", "elu", tf.nn.relu6, tf.nn.leaky_relu, "softplus", "selu", "swish", "gelu",
                       lambda x: keras.activations.gelu(x, approximate=True), None):
        tower = layers.Dense(10, activation=activation)(numbers)
        outputs.append(layers.Dense(4, use_bias=activation != "tanh", activation=activation)(tower))
    scores = tf.nn.softmax(tf.matmul(history, history, transpose_b=True))
    outputs.append(layers.Flatten()(tf.matmul(scores, history)))
    centred = tf.math.squared_difference(numbers, tf.reduce_mean(numbers, 1, keepdims=True))
    outputs.append(centred * tf.math.rsqrt(tf.reduce_mean(centred, 1, keepdims=True) + 0.25))
    outputs.append(layers.LayerNormalization()(layers.BatchNormalization()(layers.Dense(40, activation="relu")(numbers))))
    outputs.append((history[:, 0] / 3 + history[:, 1]) ** 3)
    joined = layers.Concatenate()(outputs)
    score = layers.Dense(1, activation="sigmoid")(joined)
    return keras.Model([numbers, ids], {"joined": layers.Activation("linear", dtype="float32")(joined),
                                      "score": layers.Activation("linear", dtype="float32")(score)})


def write(name, policy, rounded, tolerance):
    keras.mixed_precision.set_global_policy(policy)
    keras.utils.set_random_seed(91)
    folder = case.start(name)
    model = build()
    rng = np.random.default_rng(92)
    for variable in model.weights:
        variable.assign(variable + np.abs(rng.normal(size=variable.shape) * 0.2).astype("f4") if "variance" in variable.name
                        else variable + (rng.normal(size=variable.shape) * 0.2).astype("f4"))
    module = tf.Module()
    module.weights = model.weights
    call = tf.function(lambda **inputs: model(inputs, training=False))
    tf.saved_model.save(module, folder + "/model", signatures=call.get_concrete_function(
        numbers=tf.TensorSpec([None, 12], tf.float32, name="numbers"), ids=tf.TensorSpec([None, 6], tf.int64, name="ids")))
    os.remove(folder + "/model/fingerprint.pb")
    shutil.rmtree(folder + "/model/assets", ignore_errors=True)
    case.add_requests(folder, answers(folder + "/model", [
        {"numbers": rng.normal(size=(b, 12)).astype("f4"), "ids": rng.integers(0, 50, (b, 6))} for b in (1, 3, 16)]))
    case.finish(folder, "layers in %s: dense layers with every activation, "
                        "means, attention, normalisations, a quotient and a power" % rounded,
                "Made by scripts/golden/make_narrow.py with TensorFlow %s on CPU, seeded random weights; answers by "
                "TensorFlow's session without oneDNN.  Apache-2.0, like the project." % tf.__version__, extra={"tolerance": tolerance})


# Four steps of the type, 2^-8 and 2^-11 of a value, and an absolute term for where terms cancel.  Against the same graph in
# double TensorFlow's own answers need 0.0207 and 0.0042 of it beside four steps (0.050 and 0.0069 over 256 more rows), with one
# thread or two, with oneDNN or without, row by row or in a batch; between these settings its half differs from itself by 0.0039.
write("keras2-bfloat16", "mixed_bfloat16", "bfloat16", {"rtol": 0.016, "atol": 0.03})
write("keras2-half", "mixed_float16", "half", {"rtol": 0.002, "atol": 0.0042})
