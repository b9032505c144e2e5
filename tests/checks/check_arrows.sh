#!/bin/sh
# Which room may include which, and where a foreign header may be seen.
#
#   check_arrows.sh [TREE]     prints what goes against the arrows; fails if anything does
set -u
case ${1:-} in
-h | --help | help)
	sed -n '1d; /^#/!q; s/^# \{0,1\}//p' "$0"
	exit 0
	;;
-*)
	echo "check_arrows.sh: unknown option $1 (try --help)" >&2
	exit 2
	;;
esac
tree=${1:-${srcdir:-.}}

# room: rooms it may include
rooms='
base: base
object_store: base object_store
storage: base storage/scratch.h storage/region.h
storage/placement: base storage/region.h storage/placement
storage/format: base storage/format
storage/fresh: base storage/region.h storage/fresh
storage/rows: base storage/region.h storage/format storage/placement storage/rows
storage/image: base storage/format storage/placement storage/rows storage/image
storage/table: base storage/region.h storage/scratch.h storage/format storage/fresh storage/placement storage/rows storage/table
storage/cache: base storage/region.h storage/cache
storage/sst: base storage/sst
storage/remote: base storage/scratch.h storage/region.h storage/format storage/rows storage/table/tier.h storage/cache storage/ssd/read_rings.h storage/remote
storage/redis: base storage/format storage/table/tier.h storage/cache storage/remote storage/redis
storage/shards: base storage/scratch.h storage/format storage/rows storage/table storage/cache storage/remote storage/shards
storage/ssd: base storage/scratch.h storage/format storage/rows storage/table/tier.h storage/cache storage/sst storage/ssd
engine/tensor: base engine/tensor
engine/graph: base engine/tensor engine/ops/ops.inc engine/graph
engine/kernels: base engine/tensor engine/kernels
engine/ops: base engine/tensor engine/graph engine/ops/ops.inc engine/ops/ops.h engine/stablehlo/ops.inc
engine/ops/array: base engine/tensor engine/graph engine/ops/ops.h engine/ops/array
engine/ops/reduce: base engine/tensor engine/graph engine/kernels engine/ops/ops.h engine/ops/array engine/ops/reduce
engine/ops/list: base engine/tensor engine/graph engine/ops/ops.h engine/ops/array engine/ops/list
engine/ops/math: base engine/tensor engine/graph engine/kernels engine/ops/ops.h engine/ops/array engine/ops/reduce engine/ops/list engine/ops/math
engine/ops/nn: base engine/tensor engine/graph engine/kernels engine/ops/ops.h engine/ops/array engine/ops/reduce engine/ops/math engine/ops/nn
engine/ops/random: base engine/tensor engine/graph engine/kernels engine/ops/ops.h engine/ops/array engine/ops/reduce engine/ops/random
engine/ops/control: base engine/tensor engine/graph engine/ops/ops.h engine/ops/array engine/ops/list engine/ops/control
engine/ops/string: base engine/tensor engine/graph engine/kernels engine/ops/ops.h engine/ops/array engine/ops/math engine/ops/string
engine/ops/parse: base engine/tensor engine/graph engine/kernels engine/ops/ops.h engine/ops/array engine/ops/ragged engine/ops/string engine/ops/parse
engine/ops/sparse: base storage/table/table.h engine/tensor engine/graph engine/kernels engine/ops/ops.h engine/ops/array engine/ops/reduce engine/ops/sparse
engine/ops/ragged: base engine/tensor engine/graph engine/kernels engine/ops/ops.h engine/ops/array engine/ops/list engine/ops/sparse engine/ops/ragged
engine/ops/state: base engine/tensor engine/graph engine/kernels engine/ops/ops.h engine/ops/array engine/ops/string engine/ops/state
engine/ops/embedding: base storage/table/table.h engine/tensor engine/graph engine/kernels engine/ops/ops.h engine/ops/array engine/ops/reduce engine/ops/nn engine/ops/sparse engine/ops/state engine/ops/embedding
engine/import: base engine/tensor engine/graph engine/front_ends.inc engine/import
engine/passes: base engine/tensor engine/graph engine/ops/embedding/column_spec.h engine/passes
engine/runtime: base engine/tensor engine/graph engine/ops/control/control.h engine/ops/list/list.h engine/runtime
engine/rows: base engine/tensor engine/graph engine/ops/embedding/column_spec.h engine/ops/nn/dense.h engine/runtime engine/rows
engine/stablehlo: base engine/tensor engine/graph engine/kernels engine/ops engine/import/front_end.h engine/stablehlo
model_loader/proto: base engine model_loader/proto
model_loader/saved_model: base engine model_loader/proto model_loader/saved_model
model_loader/checkpoint: base engine model_loader/proto model_loader/checkpoint
model_loader/embedding: base storage engine model_loader/checkpoint model_loader/embedding
model_loader/version: base storage engine model_loader
incremental: base storage engine model_loader incremental
row_stream: base storage row_stream
session_group: base engine model_loader session_group
processor: base object_store/object_store.h storage engine model_loader incremental row_stream session_group processor
processor/config: base object_store/object_store.h storage engine model_loader row_stream/row_source.h session_group processor/config
processor/publish: base storage engine model_loader incremental processor/publish
processor/request: base engine model_loader session_group processor/request
processor/version: base storage engine model_loader incremental row_stream session_group processor/config processor/publish processor/request processor/version
processor/warmup: base storage engine model_loader incremental session_group processor/request processor/version processor/warmup
processor/updater: base storage engine model_loader incremental row_stream session_group processor/config processor/request processor/version processor/warmup processor/updater
api: base storage engine model_loader incremental session_group processor api
api/host: base object_store/object_store.h api/serving_processor.h api/host
api/host/http: base api/host/json/json_writer.h api/host/metrics/call_record.h api/host/http
api/host/json: base api/host/json
api/host/describe: base api/serving_processor.h api/host/json/json_writer.h api/host/messages api/host/model api/host/describe
api/host/eas: base api/host/eas
api/host/infer: base api/serving_processor.h api/host/flags.h api/host/metrics api/host/model api/host/infer
api/host/messages: base api/serving_processor.h api/host/infer api/host/messages
api/host/grpc: base api/serving_processor.h api/host/describe api/host/flags.h api/host/http api/host/infer api/host/messages api/host/metrics api/host/model api/host/routes api/host/sticky api/host/grpc
api/host/predict: base api/serving_processor.h api/host/infer/tensors.h api/host/json api/host/messages/message.h api/host/predict
api/host/model: base object_store/object_store.h api/serving_processor.h api/host/flags.h api/host/json api/host/metrics/counters.h api/host/model
api/host/metrics: base api/serving_processor.h api/host/model/versions_report.h api/host/model/version_status.h api/host/metrics
api/host/observe: base api/serving_processor.h api/host/flags.h api/host/http api/host/json api/host/metrics api/host/observe
api/host/samples: base api/serving_processor.h api/host/infer api/host/messages api/host/metrics/counters.h api/host/model api/host/samples
api/host/sticky: base api/serving_processor.h api/host/infer/tensors.h api/host/json api/host/messages api/host/predict api/host/sticky
api/host/v2: base api/serving_processor.h api/host/infer/tensors.h api/host/json api/host/messages api/host/predict api/host/v2
api/host/routes: base api/serving_processor.h api/host/describe api/host/eas api/host/flags.h api/host/worker.h api/host/http api/host/infer api/host/json api/host/messages api/host/metrics api/host/model api/host/observe api/host/predict api/host/routes api/host/sticky api/host/v2
tools: base object_store/object_store.h storage engine model_loader incremental processor tools
'

# header: the only places that may include it
foreign='
re2/: engine/kernels/regex.cpp
snappy-c.h: model_loader/checkpoint/snappy.c
protobuf-c/: model_loader/proto/
cJSON.h: processor/config/ api/ object_store/listing_json.c object_store/credentials.c
cjson/: processor/config/ api/ object_store/listing_json.c object_store/credentials.c
curl/: api/host/observe/http_post.c object_store/transfer.c
expat.h: object_store/listing_xml.c
event2/: api/host/http/
librdkafka/: row_stream/source_kafka.c
openssl/: api/host/http/http_tls.c api/host/eas/eas_token.c object_store/digest.c
nghttp2/: api/host/http/http2_internal.h api/host/http/http2_memory
rocksdb/: storage/ssd/rocks.c
'

awk -v tree="$tree" -v rooms="$rooms" -v foreign="$foreign" '
function starts(text, with) { return substr(text, 1, length(with)) == with }

function room_of(file,    n, best) {
	best = ""
	for (n in allowed)
		if (starts(file, n "/") && length(n) > length(best))
			best = n
	return best
}

function may(room, header,    n, list, i) {
	n = split(allowed[room], list, " ")
	for (i = 1; i <= n; i++)
		if (header == list[i] || starts(header, list[i] "/"))
			# api includes api/host only through its own fragment
			return !(room == "api" && starts(header, "api/host/"))
	return 0
}

function check_foreign(file, header,    h, n, list, i, good) {
	for (h in places) {
		if (header != h && !(h ~ /\/$/ && starts(header, h)))
			continue
		good = 0
		n = split(places[h], list, " ")
		for (i = 1; i <= n; i++)
			good = good || starts(file, list[i])
		if (!good)
			report(file, header, "is seen in " places[h] " only")
	}
}

function report(file, header, why) {
	printf "%s includes %s: %s\n", file, header, why
	bad = 1
}

BEGIN {
	n = split(rooms, lines, "\n")
	for (i = 1; i <= n; i++)
		if (split(lines[i], pair, ": ") == 2)
			allowed[pair[1]] = pair[2]
	n = split(foreign, lines, "\n")
	for (i = 1; i <= n; i++)
		if (split(lines[i], pair, ": ") == 2)
			places[pair[1]] = pair[2]
	find = "cd \"" tree "\" && find base object_store storage engine model_loader incremental row_stream session_group processor api tools -name \"*.[ch]\" -o -name \"*.cpp\" -o -name \"*.inc\" | sort"
	while ((find | getline file) > 0) {
		room = room_of(file)
		count++
		while ((getline line < (tree "/" file)) > 0) {
			if (line !~ /^[ \t]*#[ \t]*include[ \t]/)
				continue
			header = line
			sub(/^[ \t]*#[ \t]*include[ \t]*[<"]/, "", header)
			sub(/[>"].*$/, "", header)
			if (line ~ /"/ && header !~ /\//)
				report(file, header, "write it from the root")
			else if (line ~ /"/ && !may(room, header))
				report(file, header, "against the arrows of " room)
			check_foreign(file, header)
		}
		close(tree "/" file)
	}
	if (count == 0) {
		print "no sources below " tree
		bad = 1
	}
	exit bad
}'
