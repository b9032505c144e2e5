#!/bin/sh
# The tree keeps its arrows, and the check sees it when one is broken.
set -u
srcdir=${srcdir:-.}
check="$srcdir/tests/checks/check_arrows.sh"
passed=0
failed=0

expect() { # expect WANTED NAME COMMAND...
	wanted=$1 name=$2
	shift 2
	if "$@" >"$work/out" 2>&1; then got=0; else got=1; fi
	if [ "$got" = "$wanted" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "$name:"
		cat "$work/out"
	fi
}

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
for room in base storage engine model_loader/checkpoint model_loader/embedding incremental row_stream session_group processor api/host tools \
	storage/table storage/rows storage/ssd storage/sst engine/tensor engine/graph engine/kernels engine/import \
	engine/passes engine/runtime engine/ops/array engine/ops/math engine/ops/list engine/ops/embedding; do
	mkdir -p "$work/tree/$room"
done

try() { # try WANTED FILE INCLUDE
	echo "#include $3" >"$work/tree/$2"
	expect "$1" "$2 with $3" "$check" "$work/tree"
	rm "$work/tree/$2"
}

expect 0 "the tree itself" "$check" "$srcdir"
try 0 storage/good.c '"base/status.h"'
try 1 storage/rows/bad.c '"storage/table/table.h"'
try 1 storage/sst/bad.h '"storage/ssd/rocks.h"'
try 1 storage/ssd/bad.c '"storage/table/table.h"'
try 0 storage/ssd/good.c '"storage/table/tier.h"'
try 1 base/bad.c '"engine/graph/op.h"'
try 1 engine/ops/embedding/bad.c '"storage/table/table_builder.h"'
try 0 engine/ops/embedding/good.c '"storage/table/table.h"'
try 1 engine/runtime/bad.c '<event2/http.h>'
try 1 engine/runtime/bad.cpp '<re2/re2.h>'
try 1 engine/tensor/bad.h '"engine/graph/op.h"'
try 1 engine/graph/bad.h '"engine/ops/ops.h"'
try 0 engine/graph/good.h '"engine/ops/ops.inc"'
try 1 engine/kernels/bad.c '"engine/graph/op.h"'
try 1 engine/passes/bad.h '"engine/runtime/program.h"'
try 1 engine/import/bad.c '"engine/passes/simplify.h"'
try 1 engine/ops/list/bad.c '"engine/passes/simplify.h"'
try 1 engine/ops/list/bad.c '"engine/runtime/program.h"'
try 1 engine/ops/array/bad.c '"engine/ops/math/add.h"'
try 0 engine/ops/math/good.c '"engine/ops/array/box.h"'
try 1 model_loader/checkpoint/bad.h '"model_loader/embedding/load_policy.h"'
try 0 model_loader/embedding/good.h '"model_loader/checkpoint/bundle.h"'
try 1 model_loader/embedding/bad.c '<snappy-c.h>'
try 1 session_group/bad.h '"incremental/discover.h"'
try 1 incremental/bad.h '"session_group/session_group.h"'
try 1 api/host/bad.c '"engine/tensor/tensor.h"'
try 1 processor/bad.c '"config.h"'
try 1 tools/bad.c '"api/serving_processor.h"'
try 0 tools/good.c '"processor/config/config.h"'

echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
