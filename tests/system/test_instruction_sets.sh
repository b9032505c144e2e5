#!/bin/sh
# The dense layers, the functions of float32 numbers, a whole model and embedding rows, on the instruction sets below this
# machine's best.
set -u
passed=0
failed=0
# The best itself is what all other tests run on.
if grep -qw avx512f /proc/cpuinfo; then
	below="scalar sse42 avx2"
else
	below="scalar sse42"
fi
[ "${SANITIZED:-}" != yes ] || below=scalar # the one without vectors of its own; the best itself runs in other tests
for isa in $below; do
	for program in tests/unit/engine/kernels/test_dense_layer tests/unit/engine/kernels/test_gemm "tests/unit/engine/ops/test_cases float_functions" \
		"tests/system/test_golden_abi keras2-mlp" tests/unit/storage/table/test_lookup tests/unit/storage/table/test_lookup_pool \
		tests/unit/storage/rows/test_rows_checked; do
		if SP_CPU=$isa $program >instruction_sets.out 2>&1; then
			passed=$((passed + 1))
		else
			failed=$((failed + 1))
			echo "SP_CPU=$isa $program:"
			tail -5 instruction_sets.out
		fi
	done
done
rm -f instruction_sets.out
echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
