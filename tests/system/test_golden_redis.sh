#!/bin/sh
# Golden models with EmbeddingVariables, all rows in Redis, where the processor puts them itself.
set -u
srcdir=${srcdir:-.}
others=${SP_GOLDEN_DIR:-$srcdir/../shared/golden}
for program in redis-server redis-cli; do
	command -v $program >/dev/null || {
		echo "$program is not installed"
		exit 77
	}
done
work=$(mktemp -d) || exit 1
redis=
trap '[ -z "$redis" ] || kill -9 $redis 2>/dev/null; wait; rm -rf "$work"' EXIT
passed=0
failed=0

count() { # count WHAT COMMAND...
	what=$1
	shift
	if "$@" >"$work/out" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "failed: $what"
		tail -20 "$work/out"
	fi
}

ask() { # ask WORD...: the answer of Redis
	redis-cli -s "$work/redis" "$@" 2>&1
}

use() { # use SOCKET MEMBERS: rows in that Redis, with these members of the configuration
	SP_GOLDEN_CONFIG="{\"feature_store_type\": \"redis\", \"redis_url\": \"unix:$1\",
		\"redis_timeout_ms\": 20000, \"redis_on_timeout\": \"fail\", \"ev_storage_size\": [1, 1]$2}"
	export SP_GOLDEN_CONFIG
}

play() { # play MODEL MEMBERS
	use "$work/redis" "$2"
	count "$1 with rows in Redis$2" tests/system/test_golden_abi "$1"
}

play_deeprec() { # play_deeprec SOCKET MODEL: in this layout a Redis has one model, and goes forward only
	use "$1" ', "redis_layout": "deeprec"'
	for execution in planned reference; do
		redis-cli -s "$1" FLUSHALL >/dev/null
		tests/system/test_golden_abi "$2" $execution || return
	done
}

refuses() { # refuses MODEL TEXT
	tests/system/test_golden_abi "$1" >"$work/refused" 2>&1 && return 1
	grep -q "$2" "$work/refused"
}

start() { # start SOCKET
	redis-server --port 0 --unixsocket "$1" --dir "$work" --save "" --daemonize no >"$work/log" 2>&1 &
	redis="$redis $!"
	for attempt in $(seq 200); do
		[ "$(redis-cli -s "$1" PING 2>&1)" != PONG ] || break
		sleep 0.05
	done
}

# What the local models answer: all else answers the same, byte for byte.
models=$(cd "$srcdir/tests/golden" && echo ev-*; cd "$others" 2>/dev/null && echo ev-*)
models=$(echo "$models" | tr ' ' '\n' | grep -vx 'ev-\*\|ev-ctr-timeline\|ev-ctr-settings\|ev-ctr-slice')
mkdir "$work/answers"
SP_GOLDEN_ANSWERS=$work/answers
export SP_GOLDEN_ANSWERS
start "$work/redis"

# A timeline waits a lot: three plays of it beside all else, each with answers and a Redis of its own.
play_timeline() { # play_timeline AS COMMAND...
	SP_GOLDEN_ANSWERS=$work/timeline_$1
	mkdir "$SP_GOLDEN_ANSWERS"
	shift
	"$@" >"$SP_GOLDEN_ANSWERS.log" 2>&1
}
play_in_redis() {
	use "$work/redis_of_timeline" ''
	tests/system/test_golden_abi ev-ctr-timeline
}
play_in_deeprecs() { # 7: before it goes back
	SP_GOLDEN_STEPS=7
	export SP_GOLDEN_STEPS
	play_deeprec "$work/deeprecs_of_timeline" ev-ctr-timeline
}
start "$work/redis_of_timeline"
start "$work/deeprecs_of_timeline"
play_timeline local tests/system/test_golden_abi ev-ctr-timeline &
timeline_local=$!
play_timeline redis play_in_redis &
timeline_redis=$!
play_timeline deeprecs play_in_deeprecs &
timeline_deeprecs=$!

for model in $models; do
	count "$model as a local model" tests/system/test_golden_abi "$model"
done
kept=$(ls "$work/answers" | wc -l)

for model in $models; do
	play "$model" ''
done
for model in ev-ctr ev-parts ev-tables; do # what a model asks for again may be on the disk
	play "$model" ", \"ev_storage_type\": 12, \"ev_storage_path\": \"$work/disk\", \"ev_storage_size\": [1, 1048576]"
done
count 'nothing is left on the disk' rmdir "$work/disk"
count 'rows are in Redis' sh -c "[ $(ask --scan --pattern '*@*{p0}' | wc -l) -gt 20 ]"
for model in $models; do
	[ "$model" != ev-incremental ] || export SP_GOLDEN_STEPS=4 # then it goes back
	count "$model as DeepRec puts rows" play_deeprec "$work/redis" "$model"
	[ "$model" != ev-incremental ] || unset SP_GOLDEN_STEPS
done
count 'rows are in Redis as DeepRec puts them' sh -c "[ '$(ask EXISTS active)' = 1 ]"

# What is refused, and how.
ask FLUSHALL >/dev/null
count 'two full checkpoints' tests/system/test_golden_abi ev-frequency planned
use "$work/redis" ', "redis_layout": "deeprec", "init_timeout_minutes": 0'
count 'an older checkpoint, as DeepRec puts rows' refuses ev-frequency \
	"version 20 is active, which is newer than 10; 'serving_tool publish --rollback' goes back"
use "$work/redis" ''
count 'a filter by frequency' refuses ev-ctr-settings \
	"'serve_frequency_threshold' cannot be used with 'feature_store_type': redis"
count 'a slice' refuses ev-ctr-slice "'shard_embedding' cannot be used with 'feature_store_type': redis"

# A cluster of one server: commands are routed, and keys of two slots in one are refused.
mkdir "$work/cluster"
ports=$(python3 -c 'import socket
sockets = [socket.socket() for i in range(2)]
for s in sockets: s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in sockets])')
redis-server --port "${ports% *}" --cluster-port "${ports#* }" --bind 127.0.0.1 --cluster-enabled yes \
	--dir "$work/cluster" --save "" --daemonize no >"$work/log" 2>&1 &
redis="$redis $!"
for attempt in $(seq 200); do
	[ "$(redis-cli -p "${ports% *}" CLUSTER ADDSLOTSRANGE 0 16383 2>&1)" != OK ] || break
	sleep 0.05
done
for attempt in $(seq 200); do
	redis-cli -p "${ports% *}" CLUSTER INFO | grep -q cluster_state:ok && break
	sleep 0.05
done
for model in ev-ctr ev-parts; do
	play "$model" ", \"feature_store_type\": \"cluster_redis\", \"redis_url\": \"127.0.0.1:${ports% *}\""
done

compare_timeline() { # compare_timeline AS PID: it passes, and answers as the local model does, byte for byte
	wait "$2" || {
		cat "$work/timeline_$1.log"
		return 1
	}
	[ "$(ls "$work/timeline_$1" | wc -l)" -gt 20 ] || return
	for answer in "$work/timeline_$1"/*; do
		cmp "$answer" "$work/timeline_local/${answer##*/}" || return
	done
}
count 'ev-ctr-timeline as a local model' compare_timeline local $timeline_local
count 'ev-ctr-timeline with rows in Redis' compare_timeline redis $timeline_redis
count 'ev-ctr-timeline as DeepRec puts rows' compare_timeline deeprecs $timeline_deeprecs
count 'every answer was compared' sh -c "[ $kept -gt 80 ] && [ $(ls "$work/answers" | wc -l) = $kept ]"
count 'rows are in the cluster' sh -c "[ $(redis-cli -p "${ports% *}" DBSIZE) -gt 100 ]"

echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
