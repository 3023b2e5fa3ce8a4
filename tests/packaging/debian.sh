# dpkg in roots of Debian releases: install, serve, upgrade, downgrade, remove, purge.

# older_deb: the server's package as an older version, a pre-release, would be; with a file that the newer has not.
older_deb() {
    local tree=$work/older-deb
    dpkg-deb -R "$server_deb" "$tree"
    echo 'no longer there' >"$tree/usr/share/doc/bcmr-serve/examples/older"
    sed -i "s/^Version: .*/Version: $older/" "$tree/DEBIAN/control"
    dpkg-deb --root-owner-group -Zxz -b "$tree" "$work/bcmr-serve_${older}_amd64.deb" >/dev/null
    rm -rf "$tree"
}

debian() {
    local suite=$1 debian=$work/$1 before deb=/tmp/${server_deb##*/} older_deb=/tmp/bcmr-serve_${older}_amd64.deb rc how why libc
    local policy='' had_sysusers=''
    root "$suite" "$debian"
    cp "$server_deb" "$client_deb" "$work/bcmr-serve_${older}_amd64.deb" "$debian/tmp/"
    in_root() { chroot "$debian" "$@"; }
    dpkg_in() { in_root dpkg "$@" >"$debian/dpkg.log" 2>&1 || { cat "$debian/dpkg.log"; die "$suite: dpkg $*"; }; }
    before=$(tree_hash "$debian/etc/ssh")
    status() { in_root dpkg-query -W -f '${db:Status-Abbrev}${Version}' bcmr-serve 2>/dev/null; }

    # Without a policy of its operator's, nothing stays behind.
    in_root bcmr serve 2>/dev/null && die 'there is a bcmr'
    dpkg_in -i "/tmp/${client_deb##*/}"
    rc=0; in_root bcmr serve 2>"$debian/err" >&2 || rc=$?
    [ "$rc" = 74 ] && has 'install the package bcmr-serve' "$debian/err" || die "bcmr serve: $rc"
    # With systemd-sysusers where the release has it here, and without, as on minimal systems.
    ! in_root sh -c 'command -v systemd-sysusers' >/dev/null || had_sysusers=watched
    for how in $had_sysusers failing absent; do
        sysusers "$debian" "$how"
        no_groups "$debian"
        dpkg_in -i "$deb"
        has_groups "$debian" "with systemd-sysusers $how"
        [ "$how" != watched ] || has -x bcmr-serve.conf "$debian/sysusers.log" || die "$suite: systemd-sysusers was not asked"
        in_root bcmr serve --version | has '^sandbox: Landlock'
        in_root bcmr-serve --profile upload </dev/null >/dev/null 2>&1 && die "$suite: served without a policy"
        dpkg_in --purge bcmr-serve
        [ ! -e "$debian/etc/bcmr" ] && [ ! -e "$debian/usr/share/doc/bcmr-serve" ] || die "$suite: purge left something"
    done

    no_groups "$debian"
    groupadd_gone "$debian"
    dpkg_in -i "$deb"
    has 'the group bcmr-mirror could not be made' "$debian/dpkg.log" || die "$suite: groups are missing in silence"
    groupadd_back "$debian"
    dpkg_in --purge bcmr-serve

    dpkg_in -i "$older_deb"
    [ -e "$debian/usr/share/doc/bcmr-serve/examples/older" ]
    account "$debian"
    edited "$debian"
    in_root bcmr-serve check --account deploy >/dev/null || die "$suite: the example policy"
    dpkg_in -i "$deb"
    [[ $(status) == "ii $version"* ]] || die "$suite: upgrade: $(status)"
    [ ! -e "$debian/usr/share/doc/bcmr-serve/examples/older" ] || die "$suite: upgrade left a file of the older version"
    untouched "$debian" upgrade
    idle "$debian" 'after an upgrade'
    [ "$(tree_hash "$debian/etc/ssh")" = "$before" ] || die "$suite: something changed in /etc/ssh"
    serves "$debian"
    dpkg_in --force-downgrade -i "$older_deb"
    [[ $(status) == "ii $older" ]] || die "$suite: downgrade: $(status)"
    untouched "$debian" downgrade
    dpkg_in -r bcmr-serve
    [ ! -e "$debian/usr/bin/bcmr-serve" ] || die "$suite: remove left the program"
    untouched "$debian" remove
    dpkg_in --purge bcmr-serve bcmr
    untouched "$debian" purge
    [ -z "$(find "$debian"/usr "$debian"/etc -name '*bcmr*' -not -path '*/etc/bcmr')" ] || die "$suite: purge left files"
    has_groups "$debian" 'after purge, though files of theirs may still be there'
    [ "$(tree_hash "$debian/etc/ssh")" = "$before" ] || die "$suite: something changed in /etc/ssh"

    libc=$(in_root ldd --version | sed -n '1s/.* //p')
    if [ "$suite" = bullseye ]; then
        cp "$dynamic" "$debian/tmp/"
        why=$(in_root /tmp/bcmr-serve --version 2>&1 || :)
        [[ $why == *GLIBC_*'not found'* ]] || die "the dynamic build said on $suite: $why"
        say "control, not static: ${why%%$'\n'*}"
    fi
    say "glibc $libc, $(in_root ssh -V 2>&1 | cut -d, -f1): installed, served, upgraded, downgraded, removed, purged;" \
        "groups with systemd-sysusers ${had_sysusers:-}${had_sysusers:+, }failing, absent"
    apt_hosts "$debian"
    umount "$debian/proc"
    rm -rf --one-file-system "$debian"
}
