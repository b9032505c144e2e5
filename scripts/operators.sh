#!/bin/sh
# Prints docs/operators.md: every operator of engine/ops/ops.inc and where it is
# described, what is taken as another one, what is refused.
#
#     scripts/operators.sh >docs/operators.md
set -eu
case ${1:-} in
'') ;;
-h | --help | help)
	sed -n '1d; /^#/!q; s/^# \{0,1\}//p' "$0"
	exit 0
	;;
*)
	echo "operators.sh: unknown option $1 (try --help)" >&2
	exit 2
	;;
esac
LC_ALL=C
export LC_ALL
cd "$(dirname "$0")/.."

cat <<'END'
# Operators

Made by `scripts/operators.sh` from `engine/ops/ops.inc` and `engine/stablehlo/ops.inc`; not to be edited.

END

lists='engine/ops/ops.inc engine/stablehlo/ops.inc'
count=$(cat $lists | grep -c '^SP_OP(')
cat <<END
These $count operators run.  The comment at the head of the source says what is computed, in which element types and
how exactly.  All element types of TensorFlow
2.15's CPU kernels are taken, but for what the last section names.

| operator | source |
| --- | --- |
END

# An operator is defined as sp_op_NAME, or by a macro at the start of a line.
grep -o -E '\<sp_op_[A-Za-z0-9_]+\>|^[A-Z_0-9]+\([A-Za-z0-9_]+' engine/ops/*/*.c engine/stablehlo/ops/*.c |
	sed -E 's/:(sp_op_|[A-Z_0-9]+\()/ /' |
	awk 'FILENAME != "-" { if (match($0, /^SP_OP\(.*\)$/)) list[++n] = substr($0, 7, length($0) - 7); next }
	{ if (!($2 in source)) source[$2] = $1 }
	END { for (i = 1; i <= n; i++) printf "| %s | [%s](../%s) |\n", list[i], source[list[i]], source[list[i]] }' \
		$lists - | sed 's/^| Addons_/| Addons>/'

cat <<'END'

## Taken as others

What stands in a file under another name, before it is compiled (`engine/import/lower.c`): variables of reference kind become
those of resource kind, and a read through a handle becomes one of its value.

| operator | becomes |
| --- | --- |
END
sed -n -e '/^\tcase SP_OPCODE_/{s/.*SP_OPCODE_\(.*\):/\1/;h;}' \
	-e '/^\t\treturn SP_OPCODE_/{s/.*SP_OPCODE_\(.*\);/\1/;H;x;s/^\([^\n]*\)\n\(.*\)/| \1 | \2 |/p;}' engine/import/lower.c |
	grep -v NONE

cat <<'END'

`VariableV2` and `Variable` become `VarHandleOp`, and calls of functions (`PartitionedCall`, `StatefulPartitionedCall`, a
function by its name) their bodies; so does `BatchFunction`, for the request at hand, and a `Case` that asks `DeviceIndex`
becomes its branch for the CPU.  Of functions that implement the same (`api_implements`) the one that prefers CPUs is
called.  Loops of `Enter`, `Merge`, `Switch`, `LoopCond`, `NextIteration` and `Exit` become a
`While` (`engine/import/import_loops.c`).  `XlaDot` and `XlaDotV2` of float become `MatMul` where the file notes that both operands are matrices
(`engine/stablehlo/call_module.c`).
A `ScatterUpdate` of constants, which says the same in every request, becomes a `TensorScatterUpdate`
(`engine/passes/constant_writes.h`), and an `AssignVariableOp` of what the variable was read to hold, a `NoOp`.
So do writes of variables that no answer of any signature shows, as those of metrics (`engine/passes/dead_writes.h`).
Writes of small variables whose next value follows from the one before and from constants, and of which nothing but random
numbers comes, are kept by each session (`engine/passes/session_variables.h`).

`XlaCallModule`, which JAX and Keras 3 with the JAX backend export, becomes nodes of the operators above
(`engine/stablehlo/`).  A library that was configured with `--disable-stablehlo` refuses it by name, and the operators of
`engine/stablehlo/ops` with it.  These operations of StableHLO are translated:

END
sed -n 's/^\t{"\([a-z0-9_]*\)", [0-9], .*$/`\1`/p' engine/stablehlo/translate.c | paste -s -d, | sed 's/,/, /g' | fold -s -w 118 | sed 's/ $//'
cat <<'END'

of `reduce`, `scatter` and `sort` with functions of scalars, as XLA's operators take them; of `custom_call` the checks of
shapes, notes about sharding and places, calls of TensorFlow's functions, elementary functions and `ApproxTopK`; `fft` of real numbers along one dimension.

## Refused

A model with any other operator is refused when it is loaded, with the names of all that are missing.  What an operator
of the list does not take is refused by name, too:

| what | why |
| --- | --- |
| training, gradients of other operators than those listed, optimizers, candidate samplers, datasets, queues, readers, summaries | not part of an answer |
| images (resizing, colors, boxes, glimpses, patches, projections), audio, video, CTC, convolutions and poolings of three dimensions, `LRN` | not met in models of this kind |
| inverses, solvers, factorizations (Cholesky, LU, QR, SVD, eigenvalues), determinants, matrix logarithms and roots; Bessel functions and integrals; incomplete gamma and beta functions, `Polygamma`, `Zeta`; `MirrorPad` | not met in models of this kind |
| fused steps of recurrent networks (`LSTMBlockCell`, `BlockLSTM`, `GRUBlockCell`), beam search (`GatherTree`) | not met in models of this kind |
| Fourier transforms but `RFFT` and `IRFFT` | not met in models of this kind |
| draws from gamma, Poisson, binomial and parameterized normal distributions, and of classes; shuffles; generators (`RngReadAndSkip`, `StatefulUniform`, ...) | not met in models of this kind |
| CSR matrices (`SparseMatrixMatMul`, ...), maps of tensors (`TensorMapInsert`, ...), stacks (`StackPushV2`, ...), batches of lists (`TensorListConcatLists`, `TensorListPushBackBatch`), `NearestNeighbors` | not met in models of this kind |
| quantized operators (`QuantizeV2`, `Dequantize`, `QuantizedMatMul`, ...) and fake quantization; TPU, MKL and CUDA operators (`CudnnRNN`, ...), those of XLA that talk to other processors (`XlaSend`, `XlaAllReduce`, ...) | made by other tools for other machines |
| `ParseSingleSequenceExample`, `ParseTensor`, `SerializeTensor`, `SerializeManySparse`, `DeserializeSparse` and their kin | not met in models of this kind |
| sums and products of sparse tensors with sparse or dense ones (`SparseAdd`, `SparseSparseMaximum`, `SparseTensorDenseAdd`, `SparseDenseCwiseMul`, ...), sparse results of reductions (`SparseReduceSumSparse`, ...), operations on sets (`SetSize`, `DenseToDenseSetOperation`, ...) | not met in models of this kind |
| `RaggedCross`, `RaggedFillEmptyRows`, `SparseFeatureCross` of tf.contrib, `EditDistance`, `EncodeBase64`, `DecodeBase64`, `Fingerprint`, `StringFormat` but for `PrintV2`, which prints nothing | not met in models of this kind |
| `DecodeProtoV2` of texts or with `sanitize`, `EncodeProto`, `DecodeJSONExample`, `DecodeCompressed` | not met in models of this kind |
| other encodings than UTF-8; `UnicodeScript`, `UnicodeTranscode`, `UnicodeDecodeWithOffsets`; regular expressions that are inputs (`RegexReplace`, `RegexFullMatch`) | not met in models of this kind |
| `PyFunc` and its kin | code of the host, not of the model |
| `XlaRngBitGenerator`, and `rng_bit_generator` of a module (keys of JAX's kind "rbg") | which number goes where is left to XLA, and depends on the shape |
| `custom_call` of LAPACK and BLAS in a module (`lapack_spotrf`, `blas_strsm`, ...), which JAX makes of factorizations and solutions | TensorFlow has no such functions either, and refuses the module |
| EmbeddingVariables of half, bfloat16 and double (`KvVarHandleOp` with such a `dtype`) | not met in models of this kind |
| `EVGetVersion` of an embedding with rows on DeepRec's SSD tier, whose records leave versions out | what training has not recorded is not known |
| `TensorArray` and `TensorArrayV2`, which TensorFlow has not made since 1.0; `TensorArraySplitV3`, `TensorListSplit`, `TensorListConcat` | not met in models of this kind |
| `LookupTableRemoveV2`, `DestroyResourceOp` | not met in models of this kind |
| `TensorArrayGradV3` and its kin, which gradients through TensorArrays of the first generation are made of | not met in models of this kind |
| lists in lists deeper than 8 | not met in models of this kind |
| `DecodeProtoV2` with `local://` and other types than `tensorflow.Example`, `tensorflow.SequenceExample` and what they are made of | which others there are depends on the program; a file, or `bytes://`, tells of any |
| `ReadFile` and `RestoreV2` in a request | files are read while a model is loaded |
| `ClipByValue` of complex numbers | they have no order |
| elements of float8 and of four bits (`DT_FLOAT8_E5M2`, `DT_FLOAT8_E4M3FN`, `DT_INT4`, `DT_UINT4`) | not met in models of this kind |
| tensors of several handles; variants in `Empty`, `MutableHashTableV2`, `StridedSliceGrad` | not met in models of this kind |
| `Cast` from and to strings | TensorFlow has the type pairs, no kernel for them |
| an int16 axis of `ArgMax`; unsigned seeds of `StatelessRandomUniformFullInt` | TensorFlow lists them and does not take them |
| `data_format` NCHW of convolutions, poolings and blocks of space; windows over batch or channels | as TensorFlow on CPU |
| `is_use_default_value_tensor` of `GroupEmbeddingVarLookupDense`, and of `GroupEmbeddingVarLookup` with several `dense_shape` | DeepRec's kernel reads another input, or none, instead of `default_value` |
| complex tensors in JSON | it has no place for them |
| `XlaSetDynamicDimensionSize`, `XlaRemoveDynamicDimensionSize`; `XlaConcatND`, `XlaSplitND` and those of variables | for shapes with bounds, and for several processors |
| functions that `XlaVariadicSort` and its kin apply, with other operators than those on single elements | not met in models of this kind |
| tensors of more than 8 dimensions | TensorFlow's own slices, paddings, reversals and broadcasts end there, too |
END
