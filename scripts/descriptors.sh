#!/bin/sh
# Prints C source with the descriptors of all .proto files in a folder, as one FileDescriptorSet:
# what the reflection of gRPC answers from.  Called by make.
#
#     PROTOC_C=protoc-c scripts/descriptors.sh api/host/proto >descriptors.pb-c.c
set -eu
case ${1:-} in
-h | --help | help)
	sed -n '1d; /^#/!q; s/^# \{0,1\}//p' "$0"
	exit 0
	;;
-* | '')
	echo "descriptors.sh: which folder? (try --help)" >&2
	exit 2
	;;
esac
set_file=$(mktemp)
trap 'rm -f "$set_file"' EXIT
cd "$1"
find . -name '*.proto' | sed 's,^\./,,' | LC_ALL=C sort | xargs "${PROTOC_C:-protoc-c}" -I. --descriptor_set_out="$set_file"
echo '/* Made by scripts/descriptors.sh. */'
echo '#include "api/host/grpc/grpc_reflection.h"'
echo
echo 'const unsigned char sp_grpc_descriptors[] = {'
od -An -v -tx1 "$set_file" | sed 's/ \([0-9a-f]\)/ 0x\1/g; s/\([0-9a-f]\)\( \|$\)/\1,\2/g'
echo '};'
echo 'const size_t sp_grpc_descriptors_size = sizeof(sp_grpc_descriptors);'
