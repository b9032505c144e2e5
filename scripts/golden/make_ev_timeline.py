"""ev-ctr-timeline: the model of ev-ctr while its trainer goes on: deltas, the next checkpoint, a way back, broken files.

Every answer changes at every version, so that one that is missed or mixed shows at once.
"""
import os

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf

import case
import embedding_variables as ev
import make_ev_ctr

DELTA = "%s/.incremental_checkpoint/incremental_model.ckpt-%d"


class Trainer:
    """Weights that change, and the session that answers with them."""

    def __init__(self, rng):
        self.rng = rng
        self.evs = make_ev_ctr.make_variables(rng)
        self.changed = {v.name: set() for v in self.evs}  # since the last full checkpoint
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.inputs, self.outputs = make_ev_ctr.build(rng, self.evs)
            self.saver_def = tf.compat.v1.train.Saver(sharded=True).saver_def
            self.session = tf.compat.v1.Session()
            self.session.run(tf.compat.v1.global_variables_initializer())
            self.variables = tf.compat.v1.global_variables()

    def train(self, user_keys, item_keys):
        """One step: every dense weight moves, and the rows of these keys, which may be new."""
        for variable in self.variables:
            value = self.session.run(variable)
            with self.graph.as_default():
                variable.load(value + self.rng.normal(size=value.shape).astype("f4") / 8, self.session)
        for variable, keys in zip(self.evs, (user_keys, item_keys)):
            variable.update({key: self.rng.normal(size=variable.dim) for key in keys})
            self.changed[variable.name].update(keys)

    def dense(self):
        return {variable.op.name: self.session.run(variable) for variable in self.variables}

    def save_full(self, prefix, step):
        rows = {name: value for v in self.evs for name, value in v.tensors().items()}
        ev.write_bundle(prefix, {**self.dense(), **rows, "global_step": np.int64(step)})
        for keys in self.changed.values():
            keys.clear()

    def save_delta(self, prefix, step):
        rows = {name: value for v in self.evs for name, value in v.delta(self.changed[v.name]).items()}
        ev.write_bundle(prefix, {**self.dense(), **rows, "global_step": np.int64(step)})

    def answers(self, feeds):
        return [(feed, self.session.run(self.outputs, {self.inputs[name]: value for name, value in feed.items()}))
                for feed in feeds]


class Timeline:
    def __init__(self, folder, trainer, feeds):
        self.folder, self.trainer, self.feeds = folder, trainer, feeds
        self.entries, self.live, self.pairs = [], None, None

    def now(self, path, full, delta=None):
        """What is live from here on."""
        self.live = {"model_path": path, "full_step": full, "delta_step": delta}
        self.pairs = self.trainer.answers(self.feeds)

    def step(self, what, write=None, touch=(), remove=(), expect="new", now=None):
        base = os.path.join(self.folder, "timeline/%02d" % (len(self.entries) + 1))
        os.makedirs(base + "/requests")
        if write:
            write(base + "/checkpoints/")
        if now:
            self.now(*now)
        case.add_requests(base, self.pairs)
        self.entries.append({"step": os.path.basename(base), "what": what, "touch": list(touch), "remove": list(remove),
                             "expect": expect, "live": self.live})


def cut(prefix, size):
    """The end of a file is missing."""
    data = prefix + ".data-00000-of-00001"
    os.truncate(data, os.path.getsize(data) - size)


def flip(prefix):
    """One bit of a tensor's bytes."""
    with open(prefix + ".data-00000-of-00001", "r+b") as file:
        file.seek(40)
        byte = file.read(1)[0]
        file.seek(40)
        file.write(bytes([byte ^ 4]))


def full(trainer, where, step):
    def write(root):
        prefix = root + "%s/model.ckpt-%d" % (where, step)
        trainer.save_full(prefix, step)
        with open(root + where + "/checkpoint", "w") as file:
            file.write('model_checkpoint_path: "model.ckpt-%d"\n' % step)
    return write


def delta(trainer, where, step, spoil=None):
    def write(root):
        trainer.save_delta(root + DELTA % (where, step), step)
        if spoil:
            spoil(root + DELTA % (where, step))
    return write


def main():
    rng = np.random.default_rng(21)
    feeds = [feed for feed in make_ev_ctr.requests(rng) if len(feed["user_id"])][:3]
    trainer = Trainer(rng)
    items = make_ev_ctr.hashed(["item_%d" % i for i in range(60)])
    folder = case.start("ev-ctr-timeline")
    graph_def = ev.with_embedding_ops(trainer.graph.as_graph_def(), trainer.evs, trainer.saver_def)
    ev.write_saved_model(folder + "/model", graph_def, trainer.saver_def,
                         {"serving_default": (trainer.inputs, trainer.outputs)})
    full(trainer, "v1", 100)(folder + "/checkpoints/")
    t = Timeline(folder, trainer, feeds)
    t.now("v1/model.ckpt-100", 100)
    first, start = t.pairs, t.live

    trainer.train([7, 8, 999], items[:20])
    t.step("a delta; user 999 is new", delta(trainer, "v1", 110), now=("v1/model.ckpt-100", 100, 110))
    trainer.train([7, 2**62], items[10:30])
    t.step("a newer delta, cumulative; the older one is removed", delta(trainer, "v1", 120),
           remove=["%s.%s" % (DELTA % ("v1", 110), end) for end in ("index", "data-00000-of-00001")],
           now=("v1/model.ckpt-100", 100, 120))
    trainer.train([101], items[30:40])
    t.step("a delta with a flipped bit is refused", delta(trainer, "v1", 130, flip), expect="unchanged")
    t.step("a delta that lacks its last bytes is waited for", delta(trainer, "v1", 140, lambda p: cut(p, 100)),
           expect="unchanged")
    t.step("its last bytes arrive", delta(trainer, "v1", 140), now=("v1/model.ckpt-100", 100, 140))
    with_140 = t.pairs, t.live
    trainer.evs[0].evict([999])
    trainer.train([8], items[:5])
    t.step("the next full checkpoint, in a folder of its own; user 999 was evicted", full(trainer, "v2", 200),
           touch=["v2/checkpoint"], now=("v2/model.ckpt-200", 200))
    trainer.train([149], items[5:9])
    t.step("a delta on it", delta(trainer, "v2", 210), now=("v2/model.ckpt-200", 200, 210))
    t.pairs, t.live = with_140
    t.step("back to the older folder, whose `checkpoint` is touched", touch=["v1/checkpoint"])
    provenance = make_ev_ctr.PROVENANCE.replace("make_ev_ctr.py", "make_ev_timeline.py")
    case.add_requests(folder, first)
    case.finish(folder, "a trainer at work: deltas on a full checkpoint, the next one, broken and half-copied deltas, and "
                        "the way back", provenance, "checkpoints",
                {"touch": ["v1/checkpoint"], "live": start, "timeline": t.entries})


if __name__ == "__main__":
    main()
