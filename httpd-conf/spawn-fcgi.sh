#!/bin/sh
# Runs hookonce.fcgi behind a Unix socket, for lighttpd-spawn.conf, apache-proxy-fcgi.conf
# and nginx.conf. Start it as root from your supervisor; it stays in the foreground, and
# TERM lets every process finish its request and ends them.
# Once: adduser --system --group --no-create-home hookonce
set -eu
program=/usr/local/lib/hookonce/hookonce.fcgi
socket=/run/hookonce/hookonce.sock
# One process works on one request, with one database connection: this is the limit.
processes=8
# A user of its own, so that the web server cannot read the secrets, and the web server's
# group, which may connect.
user=${HOOKONCE_USER:-hookonce}
group=${HOOKONCE_GROUP:-hookonce}
webserver=www-data
export HOOKONCE_CONF=/etc/hookonce.conf

# /run is empty after a boot. Only the web server's group may pass.
install -d -o "$user" -g "$webserver" -m 0750 "${socket%/*}"

# A socket that nobody listens on is replaced, one that is in use is not. -M, because the
# umask would decide otherwise. A Unix socket alone: who can connect can end hookonce.fcgi.
# setpriv ends the processes with their multiwatch, also after kill -9, which would leave
# them behind with the socket in use.
exec spawn-fcgi -n -s "$socket" -M 0660 -U "$user" -G "$webserver" -u "$user" -g "$group" -- \
    /usr/bin/multiwatch -f "$processes" -- /usr/bin/setpriv --pdeathsig TERM "$program"
