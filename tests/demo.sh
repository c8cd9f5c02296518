#!/bin/sh
# make run: a private PostgreSQL and lighttpd under var/demo, three deliveries, and what
# became of them. Runs until Ctrl-C, then stops and removes all of it.
#   ONCE=1        ends at once
#   DATABASE_URL  use this database, start no PostgreSQL
#   B             the folder of the binaries
set -eu
umask 022
cd -P "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin
hookonce=${B:-build}/hookonce
demo=$PWD/var/demo
conf=var/demo/hookonce.conf
log=$demo/web/log
events=tests/fixtures/2023-10-16
paid=$events/05-invoice.paid.json
voided=$events/12-invoice.voided.json

fail() {
    echo "make run: $*" >&2
    exit 1
}

# The servers of a demo in this folder, a killed one's too: their process ids.
servers() {
    printf '%s/\n' "$demo" | grep -lFf - /proc/[0-9]*/cmdline 2>/dev/null | cut -d / -f 3 |
        while read -r pid; do
            case $(cat "/proc/$pid/cmdline" 2>/dev/null | tr '\0' ' ') in
            "$demo"/web/hookonce.fcgi* | lighttpd\ -f\ * | */postgres\ -D\ * | */pg_ctl\ * | \
                */initdb\ * | *cluster.sh\ start\ *) echo "$pid" ;;
            esac
        done
}

stop_servers() {
    tries=0
    while pids=$(servers) && [ -n "$pids" ]; do
        signal=INT # PostgreSQL waits for no client then
        [ $((tries += 1)) -le 100 ] || signal=KILL
        kill -s $signal $pids 2>/dev/null || true
        sleep 0.1
    done
}

finish() {
    code=$?
    trap '' INT TERM HUP PIPE
    set +e
    [ -z "${follower:-}" ] || kill "$follower"
    stop_servers
    case $code in
    0 | 130 | 141)
        rm -rf "$demo" && echo "Stopped, and removed var/demo."
        rmdir var 2>/dev/null
        ;;
    *)
        rm -rf "$demo/pg/data" "$demo/pg/sock" "$conf"
        echo "make run: failed; the servers are stopped, their logs are in var/demo." >&2
        ;;
    esac
    exit $code
}

# As www-data when root. Who has no way through the folders above gets root's right to pass.
as_web() {
    if [ "$(id -u)" != 0 ]; then
        "$@"
    elif setpriv --reuid www-data --regid www-data --clear-groups test -x "$demo"; then
        setpriv --reuid www-data --regid www-data --clear-groups "$@"
    else
        setpriv --reuid www-data --regid www-data --clear-groups \
            --inh-caps +dac_override --ambient-caps +dac_override "$@"
    fi
}

start_lighttpd() {
    cat >"$demo/web/lighttpd.conf" <<CONF
server.modules       = ( "mod_fastcgi" )
server.bind          = "127.0.0.1"
server.port          = $port
server.document-root = "$demo/web"
server.upload-dirs   = ( "$demo/web" )
server.errorlog      = "$log"
server.breakagelog   = "$log"
fastcgi.server = ( "/webhooks" => ((
    "bin-path"    => "$demo/web/hookonce.fcgi",
    "socket"      => "$demo/web/sock",
    "check-local" => "disable",
    "min-procs"   => 2,
    "max-procs"   => 2
)) )
CONF
    HOME=$demo/web HOOKONCE_CONF=$PWD/$conf as_web lighttpd -f "$demo/web/lighttpd.conf" \
        </dev/null >"$demo/web/start.log" 2>&1
}

# deliver WHAT FILE [--forged]: sends it and says what came back; leaves code and word.
deliver() {
    answer=$("$hookonce" send --config "$conf" --url "$url" ${3:-} "$2") || true # not 200
    code=${answer%% *}
    word=$(printf %s "$answer" | sed -n 's/^[0-9]* {"[a-z]*":"\([a-z_]*\)"} .*/\1/p')
    case $code:$word in
    200:processed) says="it was new; receipt and effect were committed together" ;;
    200:duplicate) says="its receipt was there already; counted, not applied again" ;;
    400:signature_*) says="refused; nobody but the provider is believed" ;;
    *) says="not what was to be expected here" ;;
    esac
    printf '%s\n    %s %s: %s.\n' "$1" "${code:-no answer}" "$word" "$says"
}

expect() { # CODE:WORD...: the answers that are right here
    case " $* " in *" $code:$word "*) return ;; esac
    tail -n 5 "$log" >&2
    fail "the answer should have been $1, and was ${answer:-none}."
}

id_in() { # FILE PREFIX: the first id of this kind
    sed -n "s/.*\"id\": \"\($2_[^\"]*\)\".*/\1/p" "$1" | head -n 1
}

show_rows() {
    psql -X -q -P pager=off -P footer=off -P null=- -v ON_ERROR_STOP=1 -d "$database" \
        -v id="$(id_in $paid evt)" -v invoice="$(id_in $paid in)" \
        -v forged="$(id_in $voided evt)" <<'SQL'
SELECT count(*) AS receipts, coalesce(sum(deliveries), 0) AS deliveries
FROM webhook_inbox WHERE event_id = :'id' \gset
SELECT count(*) AS booked FROM ledger_entries WHERE invoice_id = :'invoice' \gset
SELECT count(*) AS forged FROM webhook_inbox WHERE event_id = :'forged' \gset
\echo The paid event: delivered :deliveries x, receipts :receipts, its invoice booked :booked x.
\echo The forged event: receipts :forged.
\echo
\echo webhook_inbox
SELECT event_id, event_type, outcome, deliveries FROM webhook_inbox
WHERE event_id IN (:'id', :'forged') ORDER BY received_at;
\echo invoices
SELECT id, status, amount_paid, currency, paid_at FROM invoices WHERE id = :'invoice';
\echo ledger_entries
SELECT invoice_id, kind, amount, currency, event_id FROM ledger_entries
WHERE invoice_id = :'invoice';
\echo outbox
SELECT event_type, aggregate_id, published_at FROM outbox WHERE aggregate_id = :'invoice';
SQL
}

case $PWD in *[[:space:]\"\'\\\$]*) fail "the servers cannot live in a folder named $PWD." ;; esac
owner=$(cat "$demo/pid" 2>/dev/null || true)
if [ "$(readlink "/proc/${owner:-none}/cwd")" = "$PWD" ] &&
    grep -q demo.sh "/proc/$owner/cmdline"; then
    fail "it is running here already; end that with Ctrl-C, or: kill $owner"
fi
[ ! -e "$demo" ] || echo "Clearing away what an earlier run left."
stop_servers
rm -rf "$demo" || fail "var/demo is another user's; it has to be removed first."
ended=130
trap finish EXIT
trap 'exit $ended' INT TERM HUP
trap 'exit 141' PIPE
mkdir -p "$demo/web"
echo $$ >"$demo/pid"

if [ -n "${DATABASE_URL:-}" ]; then
    echo "PostgreSQL: the database that DATABASE_URL names"
    database=$DATABASE_URL
    new=duplicate
else
    echo "PostgreSQL: a private cluster in var/demo/pg, on a Unix socket alone"
    unset $(env | sed -n 's/^\(PG[A-Z]*\)=.*/\1/p') # meant for another server
    database=$(tests/cluster.sh start "$demo/pg") || fail "PostgreSQL did not start."
    new=processed
fi
(umask 077 && : >"$conf")
# A line of it is short: a connection string in words takes a line a word.
printf '%s\n' "$database" | sed 's/  */\n/g' | sed 's/^/database = /' >"$conf"
printf '%s\n' '[endpoint billing]' 'path = /webhooks/stripe' 'provider = stripe' \
    'secret = whsec_demo' >>"$conf"
printf 'Tables: '
"$hookonce" migrate --config "$conf" || fail "the tables could not be made."

cp "${B:-build}/hookonce.fcgi" "$demo/web/"
if [ "$(id -u)" = 0 ]; then
    chown www-data "$demo/web"
    chown root:www-data "$conf"
    chmod 640 "$conf"
fi
port=8080
until start_lighttpd; do
    if [ $port = 8179 ] || ! grep -q 'Address already in use' "$demo/web/start.log"; then
        tail -n 5 "$demo/web/start.log" "$log" >&2 || true
        fail "lighttpd did not start."
    fi
    port=$((port + 1))
done
url=http://127.0.0.1:$port/webhooks/stripe
echo "lighttpd: $url, two FastCGI processes of hookonce.fcgi"
echo

deliver "1. An invoice.paid, signed:" "$paid"
expect 200:processed 200:$new
deliver "2. The same again:" "$paid"
expect 200:duplicate
deliver "3. An invoice.voided with a bad signature:" "$voided" --forged
expect 400:signature_mismatch

echo
show_rows || fail "the rows could not be read."
echo "The log, a line a request:"
sed -n 's/.*FastCGI-stderr: *//p' "$log" | tail -n 3

[ -z "${ONCE:-}" ] || exit 0
cat <<TEXT

Running: $url
  send more   $hookonce send --config $conf \\
                  --url $url $events/*.json
  look        $hookonce status --config $conf
  end         Ctrl-C
The log, as it grows:
TEXT
ended=0
tail --pid=$$ -n 0 -f "$log" &
follower=$!
wait $follower
