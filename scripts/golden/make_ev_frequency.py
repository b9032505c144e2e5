"""ev-frequency: a model that asks how often training has seen its keys, and when it has changed their rows last.

EVGetFrequency and EVGetVersion of a table with a counter filter and of one without, while their trainer goes on: keys
that the filter refuses, and admits later; deltas, which say nothing of refused keys; the next checkpoint.
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
import embedding_variables as ev
from make_ev_timeline import DELTA, Timeline, delta, full

PROVENANCE = ("Made by scripts/golden/make_ev_frequency.py with TensorFlow %s on CPU: bundles by SaveV2, answers by running the "
              "graph with rows, frequencies and versions computed from the documented rules.  Apache-2.0, like the project."
              % tf.__version__)


class Counted(ev.EmbeddingVariable):
    """One that records how often each key was seen, and when last; `told` is what checkpoints say of that."""

    def __init__(self, name, dim, filter_freq=0):
        super().__init__(name, dim, [], [], np.full((1, dim), -1.0), filter_freq=filter_freq, no_permission=0.5)
        self.seen, self.last, self.told, self.changed = {}, {}, {}, set()

    def train(self, rng, keys, step):
        for key in keys:
            self.seen[key] = self.seen.get(key, 0) + 1
            self.last[key] = step
        rows = {key: rng.normal(size=self.dim) for key in keys if self.seen[key] >= self.filter_freq}
        if rows:
            self.update(rows)
        self.changed.update(key for key in keys if key in self.table)

    def tell(self, keys):
        self.told.update({key: (self.seen[key], self.last[key]) for key in keys})

    def numbers(self, keys, which, absent):
        return np.array([self.told[int(key)][which] if int(key) in self.told else absent for key in keys.reshape(-1)],
                        np.int64)

    def ask(self, keys, what):
        """A vector, whatever the shape of the keys."""
        which, absent = {"frequency": (0, 0), "version": (1, -1)}[what]
        with tf.name_scope("%s_%s" % (self.name, what)):
            out = tf.compat.v1.py_func(lambda k: self.numbers(k, which, absent), [keys], tf.int64, name="standin")
        out.set_shape([None])
        return out

    def column(self, keys, which):
        return np.array([self.told[int(key)][which] for key in keys], np.int64)

    def checkpoint(self, empty=False):
        refused = np.array(sorted(set(self.seen) - set(self.table), key=lambda key: key % 1000), np.int64)
        self.filtered = refused
        self.told.clear()
        self.tell(self.seen)
        self.changed.clear()
        return {**super().checkpoint(), "-freqs": self.column(self.keys, 0), "-versions": self.column(self.keys, 1),
                "-freqs_filtered": self.column(refused, 0), "-versions_filtered": self.column(refused, 1)}

    def delta(self, keys):
        self.tell(keys)
        out = super().delta(keys)
        held = out[self.name + "-sparse_incr_keys"]
        out[self.name + "-sparse_incr_freqs"] = self.column(held, 0)
        out[self.name + "-sparse_incr_versions"] = self.column(held, 1)
        return out


class Trainer:
    def __init__(self, rng):
        self.rng = rng
        self.evs = [Counted("plain", 3), Counted("strict", 4, filter_freq=3)]
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.build()
            self.saver_def = tf.compat.v1.train.Saver(sharded=True).saver_def
            self.session = tf.compat.v1.Session()
            self.session.run(tf.compat.v1.global_variables_initializer())

    def build(self):
        keys = tf.compat.v1.placeholder(tf.int64, [None, 2], "keys")
        tf.compat.v1.get_variable("dense", initializer=np.arange(2, dtype="f4"), use_resource=False)
        plain, strict = self.evs
        self.inputs = {"keys": keys}
        self.outputs = {
            "plain_frequency": plain.ask(keys, "frequency"),
            "strict_frequency": strict.ask(keys, "frequency"),
            "strict_version": strict.ask(keys, "version"),
            "strict_fixed": strict.ask(tf.constant([7, 8], tf.int64), "frequency"),
            "plain_rows": plain.read(keys),
            "strict_rows": strict.read(keys),
        }
        self.outputs = {name: tf.identity(tensor, name + "_out") for name, tensor in self.outputs.items()}

    def train(self, keys, step):
        for variable in self.evs:
            variable.train(self.rng, keys, step)

    def save_full(self, prefix, step):
        rows = {name: value for v in self.evs for name, value in v.tensors().items()}
        ev.write_bundle(prefix, {"dense": np.arange(2, dtype="f4"), **rows, "global_step": np.int64(step)})

    def save_delta(self, prefix, step):
        rows = {name: value for v in self.evs for name, value in v.delta(v.changed).items()}
        ev.write_bundle(prefix, {**rows, "global_step": np.int64(step)})

    def answers(self, feeds):
        return [(feed, self.session.run(self.outputs, {self.inputs[name]: value for name, value in feed.items()}))
                for feed in feeds]


def main():
    rng = np.random.default_rng(41)
    trainer = Trainer(rng)
    feeds = [{"keys": np.int64(keys).reshape(-1, 2)}
             for keys in ([7, 8, 9, 1007, 5, 7], [2**62, 77, -1, -2, -7, 6, 100, 101], [])]
    for step in range(1, 11):
        trainer.train([7, 1007, 100] + ([8, 2**62] if step % 2 else []) + ([9] if step == 4 else []), step)
    folder = case.start("ev-frequency")
    graph_def = ev.with_embedding_ops(trainer.graph.as_graph_def(), trainer.evs, trainer.saver_def)
    ev.write_saved_model(folder + "/model", graph_def, trainer.saver_def,
                         {"serving_default": (trainer.inputs, trainer.outputs)})
    full(trainer, "v1", 10)(folder + "/checkpoints/")
    t = Timeline(folder, trainer, feeds)
    t.now("v1/model.ckpt-10", 10)
    first, start = t.pairs, t.live

    trainer.train([7, 9, 5], 11)
    t.step("a delta; of key 5, which the filter still refuses, and of 9, it says nothing for the strict table",
           delta(trainer, "v1", 11), now=("v1/model.ckpt-10", 10, 11))
    trainer.train([9, 9, 5, 5, 6], 12)
    t.step("a newer delta; keys 5 and 9 are admitted", delta(trainer, "v1", 12),
           remove=["%s.%s" % (DELTA % ("v1", 11), end) for end in ("index", "data-00000-of-00001")],
           now=("v1/model.ckpt-10", 10, 12))
    trainer.train([77, 7], 20)
    t.step("the next full checkpoint, which knows the refused keys", full(trainer, "v2", 20), touch=["v2/checkpoint"],
           now=("v2/model.ckpt-20", 20))
    trainer.train([101, 77, 77, 7], 21)
    t.step("a delta on it", delta(trainer, "v2", 21), now=("v2/model.ckpt-20", 20, 21))
    case.add_requests(folder, first)
    case.finish(folder, "frequencies and versions of keys: held, refused by a filter and absent ones, through deltas and "
                        "the next checkpoint", PROVENANCE, "checkpoints",
                {"touch": ["v1/checkpoint"], "live": start, "timeline": t.entries})


main()
