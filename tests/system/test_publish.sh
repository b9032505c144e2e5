#!/bin/sh
# serving_tool publish with a redis-server: what is half published is never seen, whatever ends it.
set -u
srcdir=$(cd "${srcdir:-.}" && pwd)
builddir=$(cd "${builddir:-.}" && pwd)
for program in redis-server redis-cli; do
	command -v $program >/dev/null || {
		echo "$program is not installed"
		exit 77
	}
done
passed=0
failed=0
work=$(mktemp -d) || exit 1
redis=
trap '[ -z "$redis" ] || kill -9 "$redis" 2>/dev/null; wait; rm -rf "$work"' EXIT
secret=s3cr3t-of-redis
socket=$work/redis

check() { # check NAME COMMAND...
	name=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "failed: $name"
		cat "$work/out"
	fi
}

ask() { # ask WORD...: the answer of Redis
	REDISCLI_AUTH=$secret redis-cli -s "$socket" "$@" 2>&1
}

is() { # is ANSWER WORD...
	answer=$1
	shift
	[ "$(ask "$@")" = "$answer" ]
}

has_full() { # has_full STEP MODEL: that version is current
	case $(ask GET "$2.current") in "full=$1 "*) return 0 ;; esac
	return 1
}

start_redis() {
	redis-server --port 0 --unixsocket "$socket" --dir "$work" --save "" --appendonly yes \
		--appendfsync no --requirepass $secret --daemonize no >"$work/redis.log" 2>&1 &
	redis=$!
	for attempt in $(seq 200); do
		[ "$(ask PING)" != PONG ] || return 0
		sleep 0.05
	done
	cat "$work/redis.log"
	return 1
}

tool() { # tool STATUS WORD...: `serving_tool publish` ends with it
	status=$1
	shift
	"$builddir/serving_tool" publish "$@" >"$work/out" 2>&1
	[ $? -eq "$status" ] && code=0 || code=1
	cat "$work/out" >>"$work/all"
	return $code
}

says() {
	grep -qe "$1" "$work/out"
}

# Two full checkpoints with the same rows; ev-parts has six tables.
model=$srcdir/tests/golden/ev-parts/model
mkdir -p "$work/v1"
cp -r "$srcdir"/tests/golden/ev-parts/checkpoints/v1/. "$work/v1"
chmod -R u+w "$work/v1"
first=$work/v1/model.ckpt-10
second=$work/v1/model.ckpt-20
for file in "$first".*; do
	cp "$file" "$second.${file#"$first".}"
done
printf '%s\n' "$secret" >"$work/password"
set -- "--model=$model" "--password_file=$work/password" --name=parts

start_redis || exit 1
check 'a full checkpoint is published' tool 0 "$@" "$first" "unix:$socket"
check 'it is current' has_full 10 parts
check 'its rows were counted' says 'rows_sent: 132'
check 'again there is nothing to send' tool 0 "$@" --json "$first" "unix:$socket"
check 'and it says so' says '"tables_there":6,.*"rows_sent":0'

# Killed in the middle: slow enough that there is one.
"$builddir/serving_tool" publish "$@" --rows_per_second=40 --lock_seconds=1 "$second" \
	"unix:$socket" >"$work/out" 2>&1 &
publisher=$!
for attempt in $(seq 200); do
	tables=$(ask --scan --pattern 'parts@20-*.tables')
	[ -z "$tables" ] || case $(ask HVALS "$tables") in *done*) break ;; esac
	sleep 0.01
done
kill -9 $publisher
wait $publisher 2>/dev/null
check 'a killed publisher has not finished' is '' GET parts@20
check 'what is current stays' has_full 10 parts
check 'the next one goes on' tool 0 "$@" --lock_seconds=1 "$second" "unix:$socket"
check 'with the tables that are left' says 'tables_there: [1-5]$'
check 'and makes it current' has_full 20 parts
check 'the former version expires' sh -c "[ $(ask TTL parts@10) -gt 80000 ]"

# Back, and forth.
check 'back to the former version' tool 0 --rollback --name=parts \
	"--password_file=$work/password" "unix:$socket"
check 'which is current then' has_full 10 parts
check 'to a version by its step' tool 0 --current=20 --name=parts \
	"--password_file=$work/password" "unix:$socket"
check 'which is current, too' has_full 20 parts
cat >"$work/parts.json" <<-EOF
	{"model_name": "parts", "savedmodel_dir": "$model", "signature_name": "serving_default",
	 "model_store_type": "local", "serialize_protocol": "protobuf", "feature_store_type": "redis",
	 "redis_url": "unix:$socket", "redis_password": "$secret"}
EOF
check 'a configuration says which Redis and model' tool 0 --rollback "$work/parts.json"
check 'of which the former version is current then' has_full 10 parts
check 'unless the address is given, too' tool 1 --current=20 --patience_seconds=1 \
	"$work/parts.json" 127.0.0.1:1
check 'and a version by its step is the current one' tool 0 --current=20 "$work/parts.json"
check 'with a configuration, too' has_full 20 parts
check 'a configuration that is not there' tool 1 --rollback "$work/none.json"
check 'is not an address' says 'none.json: No such file'
check 'a checkpoint is neither' tool 2 --rollback "$first"
check 'but not to one that never was' tool 1 --current=30 --name=parts \
	"--password_file=$work/password" "unix:$socket"
check 'and what is current stays' has_full 20 parts

# Broken files: the data lie in one file, of which a row is changed.
broken=$work/v1/model.ckpt-30
for file in "$first".*; do
	cp "$file" "$broken.${file#"$first".}"
done
data=$(ls "$broken".data-*)
size=$(wc -c <"$data")
cp "$data" "$work/sound"
printf '\377\377\377' | dd of="$data" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
check 'a broken checkpoint is not published' tool 1 "$@" "$broken" "unix:$socket"
check 'what is current stays then' has_full 20 parts
check 'there is no lock' is '' GET parts.lock
cp "$work/sound" "$data"
check 'once it is sound it is published' tool 0 "$@" "$broken" "unix:$socket"
check 'and is current' has_full 30 parts

# Two at once, of one version, from nothing.
ask FLUSHALL >/dev/null
"$builddir/serving_tool" publish "$@" --rows_per_second=500 "$first" "unix:$socket" >"$work/other" 2>&1 &
publisher=$!
check 'one of two publishers' tool 0 "$@" "$first" "unix:$socket"
check 'the other one' wait $publisher
check 'both are content' has_full 10 parts

# Redis killed in the middle: it comes back with what it had, and the publisher goes on.
"$builddir/serving_tool" publish "$@" --rows_per_second=200 "$second" "unix:$socket" >"$work/out" 2>&1 &
publisher=$!
for attempt in $(seq 200); do
	[ -z "$(ask --scan --pattern 'parts@20-*.tables')" ] || break
	sleep 0.01
done
kill -9 $redis
wait $redis 2>/dev/null
start_redis || exit 1
wait $publisher
code=$?
cat "$work/out" >>"$work/all"
if [ $code -eq 0 ]; then
	check 'after a restart it is complete' has_full 20 parts
else
	check 'after a restart the old version is current' has_full 10 parts
	check 'and it can be published' tool 0 "$@" --lock_seconds=1 "$second" "unix:$socket"
fi

# Full.
ask FLUSHALL >/dev/null
ask CONFIG SET maxmemory 1 >/dev/null
ask CONFIG SET maxmemory-policy noeviction >/dev/null
check 'a full Redis refuses' tool 1 "$@" "$first" "unix:$socket"
check 'in its own words' says '^serving_tool: Redis: OOM'
ask CONFIG SET maxmemory 0 >/dev/null

# DeepRec's layout.
check 'in the layout of DeepRec' tool 0 "$@" --layout=deeprec "$first" "unix:$socket"
check 'database 0 is active' is 1 GET active
check 'with its version' is 10,0 GET model_version
check 'then the other one' tool 0 "$@" --layout=deeprec "$second" "unix:$socket"
check 'database 0 is not active' is 0 GET active
check 'database 1 is' sh -c "[ \"$(ask -n 1 GET model_version)\" = 20,0 ]"

# The password.
check 'from the environment' env REDISCLI_AUTH=$secret "$builddir/serving_tool" publish --json \
	"--model=$model" --name=parts "$first" "unix:$socket" >>"$work/all" 2>&1
check 'a wrong one is refused' tool 1 --rollback --name=parts --patience_seconds=1 \
	"redis://:wrong-$secret@127.0.0.1:1"
check 'and it says why there is no answer' says 'serving_tool: Redis at 127.0.0.1:1 cannot be reached: '
check 'an address in the wrong place' tool 2 "redis://:$secret@127.0.0.1:1"
check 'an address too many' tool 2 "$first" unix:/none "redis://:$secret@127.0.0.1:1"
check 'a flag that does not exist' tool 2 "--password=$secret" "$first" unix:/none
check 'an address that is none' tool 2 "$@" "$first" "redis://:$secret@127.0.0.1:port"
check 'it is shown nowhere' "$srcdir/tests/support/no_secret.sh" "$work"

echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
