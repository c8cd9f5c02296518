#!/bin/sh
# A file includes only headers of its own layer or a lower one. The layers come from the
# Makefile as L0 to L7; a source or a header in none of them is an error too.
set -eu
table=$(for n in 0 1 2 3 4 5 6 7; do
    eval "names=\$L$n"
    for m in $names; do echo "$m $n"; done
done)
layer() {
    echo "$table" | awk -v m="$1" '$1 == m { print $2 }'
}
bad=0
for f in src/*.c include/*.h; do
    own=$(basename "$f" | sed 's/\.[ch]$//')
    mine=$(layer "$own")
    if [ -z "$mine" ]; then
        echo "$f: in no layer of the Makefile"
        bad=1
        continue
    fi
    for h in $(sed -n 's/^#include "\(.*\)\.h"/\1/p' "$f"); do
        theirs=$(layer "$h")
        if [ -z "$theirs" ] || [ "$theirs" -gt "$mine" ]; then
            echo "$f: layer $mine includes $h.h of layer ${theirs:-none}"
            bad=1
        fi
    done
done
exit $bad
