"""The names of a checkpoint's shards."""
import numpy as np

from op_cases import Cases

cases = Cases("sharded_filename")
for base, shard, count in [("/tmp/model", 0, 1), ("", 3, 12345), ("model", 99999, 100000), ("a", -1, 7), ("x" * 300, 2**31 - 1, -2**31)]:
    cases.add("ShardedFilename", {"basename": np.array(base), "shard": np.int32(shard), "num_shards": np.int32(count)}, name=base[:20])
cases.add("ShardedFilename", {"basename": np.array(["a"]), "shard": np.int32(0), "num_shards": np.int32(1)}, name="vector", refuse=True)
cases.add("ShardedFilename", {"basename": np.array("a"), "shard": np.int32([0]), "num_shards": np.int32(1)}, name="shards", refuse=True)
cases.write()
