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

play() { # play MODEL MEMBERS: with these members of the configuration
	[ -d "$srcdir/tests/golden/$1" ] || [ -d "$others/$1" ] || return
	SP_GOLDEN_CONFIG="{\"feature_store_type\": \"redis\", \"redis_url\": \"unix:$work/redis\",
		\"redis_timeout_ms\": 20000, \"redis_on_timeout\": \"fail\", \"ev_storage_size\": [1, 1]$2}"
	export SP_GOLDEN_CONFIG
	count "$1 with rows in Redis$2" tests/system/test_golden_abi "$1"
}

redis-server --port 0 --unixsocket "$work/redis" --dir "$work" --save "" --daemonize no >"$work/log" 2>&1 &
redis=$!
for attempt in $(seq 200); do
	[ "$(ask PING)" != PONG ] || break
	sleep 0.05
done

for model in ev-ctr ev-ctr-checkpoint ev-nested ev-groups ev-parts ev-rows ev-tables ev-bags ev-minimal ev-wdl \
	ev-partitioned ev-filter-counter ev-filter-cbf ev-int32-keys ev-sequence ev-g3 ev-incremental \
	ev-ctr-ssd ev-frequency ev-unneeded ev-ctr-timeline; do
	play "$model" ''
done
count 'rows are in Redis' sh -c "[ $(ask --scan --pattern '*@*{p0}' | wc -l) -gt 20 ]"
for model in ev-ctr ev-int32-keys ev-parts; do # none goes back to an older checkpoint
	ask FLUSHALL >/dev/null # in this layout a Redis has one model
	play "$model" ', "redis_layout": "deeprec"'
done
count 'rows are in Redis as DeepRec puts them' sh -c "[ '$(ask EXISTS active)' = 1 ]"

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
count 'rows are in the cluster' sh -c "[ $(redis-cli -p "${ports% *}" DBSIZE) -gt 100 ]"

echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
