#!/bin/sh
# Prints C source with a file's text as an array of characters.  Called by make.
#
#     scripts/embed_text.sh status_page.html sp_status_page api/host/routes/status_page.h
set -eu
case ${1:-} in
-h | --help | help)
	sed -n '1d; /^#/!q; s/^# \{0,1\}//p' "$0"
	exit 0
	;;
esac
if [ $# -ne 3 ]; then
	echo "embed_text.sh: FILE NAME HEADER are needed (try --help)" >&2
	exit 2
fi
echo '/* Made by scripts/embed_text.sh. */'
echo "#include \"$3\""
echo
echo "const char $2[] ="
sed 's/\\/\\\\/g; s/"/\\"/g; s/?/\\?/g; s/.*/	"&\\n"/' "$1"
echo '	;'
