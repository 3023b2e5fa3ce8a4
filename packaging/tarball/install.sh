#!/bin/sh
# Installs what is beside this file, or removes it again. Needs no root where the prefix is yours.
#
#   ./install.sh [--prefix DIR]              DIR: /usr/local
#   ./install.sh --uninstall [--prefix DIR]
set -eu
umask 022
here=$(cd "$(dirname "$0")" && pwd -P)
prefix=/usr/local
uninstall=
usage() { sed -n '2,6s/^# \{0,1\}//p' "$0"; }
while [ $# -gt 0 ]; do
    case $1 in
    --prefix) [ $# -ge 2 ] || { usage >&2; exit 64; }; prefix=$2; shift ;;
    --prefix=*) prefix=${1#--prefix=} ;;
    --uninstall) uninstall=1 ;;
    --help) usage; exit 0 ;;
    *) usage >&2; exit 64 ;;
    esac
    shift
done
case $prefix in /*) ;; *) echo "install.sh: the prefix must be an absolute path: $prefix" >&2; exit 64 ;; esac

while IFS= read -r file; do
    to=$prefix/$file
    if [ -n "$uninstall" ]; then
        rm -f "$to"
        # Directories that others use are not empty, and stay.
        dir=$(dirname "$file")
        while [ "$dir" != . ] && rmdir "$prefix/$dir" 2>/dev/null; do dir=$(dirname "$dir"); done
    else
        mkdir -p "$(dirname "$to")"
        # A rename: a program that runs can be replaced, and a new one is there whole or not at all.
        cp "$here/$file" "$to.new"
        mv -f "$to.new" "$to"
    fi
done <"$here/files"
[ -n "$uninstall" ] || echo "installed in $prefix"
