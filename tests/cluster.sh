#!/bin/sh
# A private PostgreSQL cluster: its own folder, its own Unix socket, no TCP, durable.
#   cluster.sh start DIR     create it if need be, start it; prints its connection string
#   cluster.sh restart DIR   | stop DIR | kill DIR (-9 to all of it) | remove DIR
# PostgreSQL refuses to run as root: then it runs as the user postgres.
set -eu
dir=$2
data=$dir/data
sock=$dir/sock
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] || bin=$(dirname "$(command -v initdb)")

# As postgres, who may have no way through the folders above DIR: root's rights to pass.
as_pg() {
    if [ "$(id -u)" != 0 ]; then
        "$@"
    elif setpriv --reuid postgres --regid postgres --clear-groups test -x "$dir"; then
        setpriv --reuid postgres --regid postgres --clear-groups "$@"
    else
        setpriv --reuid postgres --regid postgres --clear-groups \
            --inh-caps +dac_override --ambient-caps +dac_override "$@"
    fi
}

ctl() {
    as_pg "$bin/pg_ctl" -D "$data" -s -w "$@" >>"$dir/ctl.log" 2>&1 || {
        cat "$dir/ctl.log" >&2
        return 1
    }
}

create() {
    [ ${#sock} -le 90 ] || {
        echo "$sock: too long a path for a Unix socket; use a shorter folder" >&2
        exit 1
    }
    mkdir -p "$dir" "$sock"
    [ "$(id -u)" != 0 ] || chown postgres "$dir" "$sock"
    ! grep -qs '^unix_socket_directories' "$data/postgresql.conf" || return 0 # written last
    rm -rf "$data"
    as_pg "$bin/initdb" -D "$data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync \
        >"$dir/initdb.log" 2>&1 || {
        cat "$dir/initdb.log" >&2
        exit 1
    }
    # fsync, synchronous_commit and full_page_writes stay on, as they are by default
    cat >>"$data/postgresql.conf" <<CONF
listen_addresses = ''
unix_socket_directories = '$sock'
unix_socket_permissions = 0777
max_connections = 60
logging_collector = off
log_min_messages = warning
log_line_prefix = '%m [%p] '
CONF
}

running() {
    # the pid that a crash left behind may be another program's by now
    pid=$(head -n 1 "$data/postmaster.pid" 2>/dev/null) &&
        grep -qF -e "$data" "/proc/$pid/cmdline" 2>/dev/null
}

case $1 in
start)
    create
    running || ctl -l "$dir/server.log" start
    echo "host=$sock user=postgres dbname=postgres"
    ;;
restart) ctl -m fast -l "$dir/server.log" restart ;;
stop) ! running || ctl -m fast stop ;;
kill)
    pid=$(head -n 1 "$data/postmaster.pid")
    kill -9 "$pid" $(ps -o pid= --ppid "$pid") 2>/dev/null || true
    rm -f "$data/postmaster.pid" "$sock"/.s.PGSQL.* # its pid may live on as a zombie
    ;;
remove)
    ! running || ctl -m immediate stop
    rm -rf "$dir"
    ;;
*)
    echo "usage: cluster.sh start|restart|stop|kill|remove DIR" >&2
    exit 2
    ;;
esac
