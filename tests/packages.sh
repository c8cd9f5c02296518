#!/bin/sh
# Installs the Debian packages that are missing, quietly; says nothing when none is.
set -eu
missing=
for p in "$@"; do
    [ "$(dpkg-query -W -f='${Status}' "$p" 2>/dev/null)" = "install ok installed" ] || missing="$missing $p"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
    echo "these packages (Debian's names) seem to be missing; going on without:$missing" >&2
    exit 0
fi
as_root=
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
    command -v sudo >/dev/null || {
        echo "to be installed, by root (there is no sudo):$missing" >&2
        exit 1
    }
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
apt="apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300"
log=$(mktemp)
# Servers that come with packages are not to be started by their installation.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null
    $as_root chmod 755 $policy
    trap '$as_root rm -f $policy' EXIT
    trap 'exit 130' INT TERM HUP
fi
if ! { $as_root $apt update && $as_root env DEBIAN_FRONTEND=noninteractive \
    $apt install -y --no-install-recommends $missing; } >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    exit 1
fi
rm -f "$log"
