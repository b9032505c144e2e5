"""ev-parts: embeddings that are made of several EmbeddingVariables, while their trainer goes on with other numbers of parts.

A partitioned one, whose parts have default rows, and one of them a filter, of their own; one of quotients and one of remainders of
keys; blocks, of which some keys have more than others.  The graph has two parts, the checkpoint three, a delta on it two as the graph,
and the next delta has one that is not partitioned at all.
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
import embedding_variables as ev
from make_ev_timeline import DELTA, Timeline, delta, full

PROVENANCE = ("Made by scripts/golden/make_ev_parts.py with TensorFlow %s on CPU: rows from a seeded generator, bundles by SaveV2, "
              "answers by running the graph with the embedding reads computed from the documented rules.  Apache-2.0, like the project."
              % tf.__version__)
v1 = tf.compat.v1
raw = tf.raw_ops
DIM = 3
PARTS = 2  # of the graph
QUOTIENT = 10


class Trainer:
    def __init__(self, rng):
        self.rng, self.parts = rng, 3
        cities = rng.choice(5000, 40, replace=False).tolist()
        self.cities = [self.make("city/part_%d" % i, [key for key in cities if self.part_of(key, PARTS) == i], part=(i, PARTS), **filtered)
                       for i, filtered in enumerate([{}, {"filter_freq": 2, "no_permission": 0.5}])]
        self.multihash = [self.make("item/multihash_%d" % i, keys) for i, keys in enumerate([range(0, 30), range(0, 7)])]
        self.blocks = [self.make("user/block%d" % i, range(5 * i, 30)) for i in range(2)]
        self.evs = [*self.cities, *self.multihash, *self.blocks]
        self.changed = {variable.name: set() for variable in self.evs}
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.build()
            self.saver_def = v1.train.Saver(sharded=True).saver_def
            self.session = v1.Session()
            self.session.run(v1.global_variables_initializer())

    def make(self, name, keys, **options):
        """One with three default rows of its own."""
        return ev.EmbeddingVariable(name, DIM, list(keys), self.rng.normal(size=(len(keys), DIM)), self.rng.normal(size=(3, DIM)),
                                    **options)

    @staticmethod
    def part_of(key, parts):
        return key % 1000 % parts

    # -------------------------------------------------------------------------------------------- the graph

    def build(self):
        ids, number = v1.placeholder(tf.int64, [None], "ids"), v1.placeholder(tf.int32, [None], "blocks")
        self.bias = v1.get_variable("bias", initializer=self.rng.normal(size=DIM).astype("f4"), use_resource=False)
        self.inputs = {"ids": ids, "blocks": number}
        outputs = {"city": self.partitioned(ids) + self.bias, "user": self.of_blocks(ids, number), **self.multihashed(ids)}
        self.outputs = {name: tf.identity(rows, name + "_out") for name, rows in outputs.items()}

    def partitioned(self, ids):
        part = tf.cast(ids % 1000 % PARTS, tf.int32)
        keys = tf.dynamic_partition(ids, part, PARTS)
        places = tf.dynamic_partition(tf.range(tf.size(ids)), part, PARTS)
        rows = [variable.read(some) for variable, some in zip(self.cities, keys)]
        return tf.ensure_shape(raw.ParallelDynamicStitch(indices=places, data=rows), [None, DIM])

    def multihashed(self, ids):
        quotient, remainder = self.multihash
        q, r = quotient.read(ids // QUOTIENT), remainder.read(ids % QUOTIENT)
        return {"item_sum": q + r, "item_product": q * r, "item_both": tf.concat([q, r], 1)}

    def of_blocks(self, ids, number):
        """As many blocks of a row as a key has; zeros for the others."""
        here = tf.range(tf.squeeze(tf.shape(ids)))
        blocks = []
        for i, variable in enumerate(self.blocks):
            has = number >= i + 1
            rows = variable.read(tf.boolean_mask(ids, has))
            blocks.append(tf.scatter_nd(tf.expand_dims(tf.boolean_mask(here, has), 1), rows, [tf.shape(ids)[0], DIM]))
        return tf.concat(blocks, 1)

    # ------------------------------------------------------------------------------------------ checkpoints

    def train(self, keys):
        """One step: the bias moves, and the rows of these keys, which may be new."""
        with self.graph.as_default():
            self.bias.load(self.rng.normal(size=DIM).astype("f4"), self.session)
        self.move(self.multihash[0], [key // QUOTIENT for key in keys])
        self.move(self.multihash[1], [key % QUOTIENT for key in keys])
        self.move(self.blocks[0], keys)
        self.move(self.blocks[1], keys[:2])
        for i, part in enumerate(self.cities):
            self.move(part, [key for key in keys if self.part_of(key, PARTS) == i])

    def move(self, variable, keys):
        if keys:
            variable.update({key: self.rng.normal(size=DIM) for key in keys})
        self.changed[variable.name].update(keys)

    def as_saved(self):
        """The variables of a checkpoint with the number of parts that the trainer has now, and which keys of each have changed."""
        rows = {key: row for part in self.cities for key, row in part.table.items()}
        changed = set().union(*[self.changed[part.name] for part in self.cities])
        for i in range(self.parts):
            name = "city/part_%d" % i if self.parts > 1 else "city"
            held = {key: row for key, row in rows.items() if self.part_of(key, self.parts) == i}
            yield ev.EmbeddingVariable(name, DIM, list(held), list(held.values()), [], filter_freq=2), changed & set(held)
        for variable in self.evs[PARTS:]:
            yield variable, self.changed[variable.name]

    def save(self, prefix, step, rows):
        ev.write_bundle(prefix, {**rows, "bias": self.session.run(self.bias), "global_step": np.int64(step)})

    def save_full(self, prefix, step):
        self.save(prefix, step, {name: value for variable, _ in self.as_saved() for name, value in variable.tensors().items()})
        for keys in self.changed.values():
            keys.clear()

    def save_delta(self, prefix, step):
        self.save(prefix, step, {name: value for variable, changed in self.as_saved() for name, value in variable.delta(changed).items()})

    def answers(self, feeds):
        return [(feed, self.answer(feed)) for feed in feeds]

    def answer(self, feed):
        return self.session.run(self.outputs, {self.inputs[name]: value for name, value in feed.items()})


def request(ids, blocks):
    return {"ids": np.int64(ids), "blocks": np.int32(blocks)}


def main():
    trainer = Trainer(np.random.default_rng(73))
    held = [int(next(key for key in part.keys if trainer.part_of(key, 3) == i)) for part in trainer.cities for i in range(3)]
    # A negative key such that C's remainders of it are none, as ours are.
    feeds = [request([4999], [2]), request([held[0], 4998], [1, 2]),
             request([*held[1:4], 7, 1234567890128, 2**62, -30], [0, 1, 2, 2, 2, 1, 2]), request([], [])]
    folder = case.start("ev-parts")
    graph_def = ev.with_embedding_ops(trainer.graph.as_graph_def(), trainer.evs, trainer.saver_def)
    ev.write_saved_model(folder + "/model", graph_def, trainer.saver_def, {"serving_default": (trainer.inputs, trainer.outputs)})
    full(trainer, "v1", 10)(folder + "/checkpoints/")
    t = Timeline(folder, trainer, feeds)
    t.now("v1/model.ckpt-10", 10)
    first, start = t.pairs, t.live
    refused = [(feed, ev.refusal(trainer.answer, feed)) for feed in (request([3, 4], [2, 2, 2]), request([], [1]))]

    trainer.parts = 2
    trainer.train([held[0], held[1], 7, 4998])
    t.step("a delta of two parts on a checkpoint of three; keys 7 and 4998 are new", delta(trainer, "v1", 11),
           now=("v1/model.ckpt-10", 10, 11))
    trainer.parts = 1
    trainer.train([held[2], 7, 4999])
    t.step("a newer delta, of an embedding that is not partitioned", delta(trainer, "v1", 12),
           remove=["%s.%s" % (DELTA % ("v1", 11), end) for end in ("index", "data-00000-of-00001")],
           now=("v1/model.ckpt-10", 10, 12))
    case.add_requests(folder, first)
    case.add_errors(folder, refused)
    case.finish(folder, "embeddings of several EmbeddingVariables: parts with default rows and a filter of their own, quotients and "
                        "remainders, blocks; deltas with other numbers of parts than the checkpoint and the graph have", PROVENANCE,
                "checkpoints", {"touch": ["v1/checkpoint"], "live": start, "timeline": t.entries, "errors": "errors"})


main()
