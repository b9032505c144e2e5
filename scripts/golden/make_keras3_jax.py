"""keras3-jax-*: what Keras 3 exports with the JAX backend: StableHLO modules of version 1, and variables that are written back.

    PYTHON scripts/golden/make_keras3_jax.py     # PYTHON: keras==3.15.1 jax==0.10.2 jaxlib==0.10.2 tensorflow-cpu==2.21.0

Also the modules that the reader of their bytecode is tested with: tests/fuzz/corpus/stablehlo/NAME.
"""
import os
import shutil

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", KERAS_BACKEND="jax")

import jax
import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

import case
from answers import answers
from stablehlo import keep_module

PROVENANCE = ("Made by scripts/golden/make_keras3_jax.py with Keras %s, JAX %s and TensorFlow %s on CPU, seeded random weights; "
              "answers by TensorFlow's own run of the module.  Apache-2.0, like the project."
              % (keras.__version__, jax.__version__, tf.__version__))


def change_weights(model):
    rng = np.random.default_rng(8)
    model.set_weights([w if w.dtype == "uint32" else w + np.abs(rng.normal(size=w.shape)).astype("f4") * 0.2
                       for w in model.get_weights()])


def finish(name, model, feeds, covers):
    """`model`: what export() has."""
    folder = case.start(name)
    model.export(folder + "/model", verbose=False)
    shutil.rmtree(folder + "/model/assets", ignore_errors=True)
    os.remove(folder + "/model/fingerprint.pb")
    case.prune(folder + "/model/saved_model.pb")
    case.add_requests(folder, answers(folder + "/model", feeds))
    case.finish(folder, covers, PROVENANCE)
    keep_module(name, folder + "/model/saved_model.pb", "stateful_fn")


def ranker():
    rng = np.random.default_rng(94)
    user, items = keras.Input((), dtype="int32", name="user"), keras.Input((4,), dtype="int32", name="items")
    x = keras.Input((5,), name="x")
    u, i = layers.Embedding(20, 6)(user), layers.GlobalAveragePooling1D()(layers.Embedding(30, 6)(items))
    dense = layers.Dropout(0.3)(layers.BatchNormalization()(layers.Dense(6, "relu")(x)))
    stacked = ops.stack([u, i, dense], 1)
    crossed = ops.reshape(ops.matmul(stacked, ops.transpose(stacked, (0, 2, 1))), (-1, 9))
    hidden = layers.Dense(8, "gelu")(layers.Concatenate()([layers.Dot(1)([u, i]), crossed, dense]))
    model = keras.Model({"user": user, "items": items, "x": x},
                        {"score": layers.Dense(1, "sigmoid")(hidden), "hidden": layers.LayerNormalization()(hidden),
                         "order": ops.argsort(x), "most": ops.argmax(x, 1), "sums": ops.cumsum(x, 1)})
    feeds = [{"user": rng.integers(0, 20, b).astype("i4"), "items": rng.integers(0, 30, (b, 4)).astype("i4"),
              "x": rng.normal(size=(b, 5)).astype("f4")} for b in (1, 6)]
    change_weights(model)
    finish("keras3-jax-ranker", model, feeds, "Keras 3 on JAX: embeddings, crossings, batch normalisation, dropout of any batch")


def sequences():
    rng = np.random.default_rng(95)
    history = keras.Input((6,), dtype="int32", name="history")
    h = layers.Embedding(30, 8, mask_zero=True)(history)
    h = layers.LayerNormalization()(h + layers.MultiHeadAttention(2, 4)(h, h, use_causal_mask=True))
    model = keras.Model({"history": history}, {
        "attended": layers.GlobalAveragePooling1D()(h), "gru": layers.GRU(4)(h), "both": layers.Bidirectional(layers.LSTM(3))(h),
        "convolved": layers.Conv1D(4, 3, padding="causal", activation="relu")(h), "pooled": layers.MaxPooling1D(2)(h),
        "separable": layers.SeparableConv1D(3, 2)(h), "average": layers.AveragePooling1D(3, 1, "same")(h)})
    feeds = [{"history": np.int32([[1, 2, 3, 0, 0, 0]])}, {"history": rng.integers(0, 30, (5, 6)).astype("i4")}]
    change_weights(model)
    finish("keras3-jax-sequences", model, feeds,
           "Keras 3 on JAX: masked embedding, attention, recurrent cells, convolutions and poolings of any batch")


class Parts:
    """A model and the tower that it is made with, which the archive keeps a second time."""

    def __init__(self, model, tower):
        self.endpoints = {"serving_default": model, "tower": tower}

    def export(self, folder, verbose):
        archive = keras.export.ExportArchive()
        for model in self.endpoints.values():
            archive.track(model)
        for name, model in self.endpoints.items():
            archive.add_endpoint(name, lambda x, model=model: {"y": model(x)}, [tf.TensorSpec((None, 5), name="x")])
        archive.write_out(folder, verbose=verbose)


def parts():
    rng = np.random.default_rng(96)
    x = keras.Input((5,), name="x")
    tower = keras.Sequential([keras.Input((5,)), layers.Dense(6, "relu"), layers.BatchNormalization(), layers.Dropout(0.3)])
    model = keras.Model(x, layers.Dense(1, "sigmoid")(tower(x)))
    change_weights(model)
    finish("keras3-jax-parts", Parts(model, tower), [{"x": rng.normal(size=(b, 5)).astype("f4")} for b in (1, 6)],
           "Keras 3 on JAX: a model and a part of it in one archive, whose copies of a variable are written from one another")


if __name__ == "__main__":
    keras.utils.set_random_seed(90)
    ranker()
    sequences()
    parts()
