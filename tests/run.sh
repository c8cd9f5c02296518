#!/bin/sh
# Runs the tests on a private PostgreSQL cluster under var/test, and ends it.
#   tests/run.sh [NAME...]     all, or these: unit, it_cgi, it_fcgi, …
# B names the folder of the binaries.
set -eu
cd "$(dirname "$0")/.."
B=${B:-build}
export B PYTHONDONTWRITEBYTECODE=1
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0:quarantine_size_mb=8} UBSAN_OPTIONS=print_stacktrace=1
TEST_CLUSTER=$PWD/var/test-$$/pg
export TEST_CLUSTER
mkdir -p "var/test-$$"
chmod 755 var "var/test-$$"
trap 'tests/cluster.sh remove "$TEST_CLUSTER"; rm -rf "var/test-$$"; rmdir var 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM HUP
TEST_CONNINFO=$(tests/cluster.sh start "$TEST_CLUSTER")
export TEST_CONNINFO

passed=0
failed=0
set_tally() { p=${1:-0} f=$((${2:-0} + ${3:-0})); } # passed, failed, crashed
out=var/test-$$/out
[ $# -gt 0 ] || set -- unit $(cd tests && ls it_*.py | sed 's/\.py$//')
for t in "$@"; do
    echo "== $t"
    code=0
    if [ "$t" = unit ]; then
        # one job: Criterion's runner leaks in parallel, which AddressSanitizer would tell of
        DATABASE_URL=$TEST_CONNINFO "$B/tests" --jobs 1 >"$out" 2>&1 || code=$?
        ! grep -q 'LeakSanitizer' "$out" || code=1
        # Criterion's last line: Tested: N | Passing: N | Failing: N | Crashing: N
        set_tally $(sed 's/\x1b\[[0-9;]*m//g' "$out" | sed -n 's/.*Passing: *\([0-9]*\).*Failing: *\([0-9]*\).*Crashing: *\([0-9]*\).*/\1 \2 \3/p' | tail -n 1)
        cat "$out"
    else
        python3 -W ignore "tests/$t.py" >"$out" 2>&1 || code=$?
        cat "$out"
        set_tally $(awk '/^Ran [0-9]+ tests? in/ { n = $2 }
            /^(FAILED|OK)/ { gsub(/[^0-9=a-z ]/, " "); for (i = 1; i <= NF; i++)
                if (split($i, kv, "=") == 2) { if (kv[1] == "skipped") n -= kv[2]; else bad += kv[2] } }
            END { print n - bad, bad + 0, 0 }' "$out")
    fi
    [ $code = 0 ] || [ "$f" -gt 0 ] || f=1
    passed=$((passed + p)) failed=$((failed + f))
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
