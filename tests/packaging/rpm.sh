# rpm in a root of its own: install, serve, upgrade, downgrade, remove.

# older_rpm: the server's package as an older version, a pre-release, would be, made by its own spec, signed as all are.
older_rpm() {
    local tree=$work/older-rpm spec=$work/older.spec
    mkdir "$tree" "$work/older"
    (cd "$tree" && rpm2cpio "$server_rpm" | cpio -idm --quiet)
    echo 'no longer there' >"$tree/usr/share/doc/bcmr-serve/examples/older"
    sed -e "s|@VERSION@|${older%-*}|g" -e "s|@RELEASE@|${older##*-}|g" -e 's|@MAINTAINER@|Ops <ops@example.org>|g' \
        -e 's|@DATE@|Thu Jan 01 2026|g' "$top/packaging/rpm/bcmr-serve.spec" >"$spec"
    rpmbuild -bb --quiet --target x86_64-linux --define "_topdir $work/rpmbuild" --define "_rpmdir $work/older" \
        --define "tree $tree" --define '_binary_payload w9.gzdio' --define '_build_id_links none' \
        --define '__os_install_post %{nil}' --define 'debug_package %{nil}' "$spec" >/dev/null 2>"$work/log" ||
        { cat "$work/log"; die 'rpmbuild of an older version'; }
    older_rpm=$(one "$work"/older/x86_64/bcmr-serve-*.rpm)
    known_to_el7 "$older_rpm"
    rpm -qp --requires "$older_rpm" | has TildeInVersions || die 'the older version is no pre-release'
    rpmsign --define "__gpg $(command -v gpg)" --define '_gpg_name ops@example.org' --define '_gpg_digest_algo sha256' \
        --addsign "$older_rpm" >/dev/null 2>&1
    rm -rf "$tree"
}

# base_rpm: rpm's database of a new root is empty; this package stands for what a distribution would provide.
base_rpm() {
    mkdir -p "$work/base"
    printf '%s\n' 'Name: base' 'Version: 1' 'Release: 1' 'Summary: What is there' 'License: none' 'BuildArch: noarch' \
        'Provides: /bin/sh' 'Provides: openssh-clients' '%description' 'What is there.' '%files' >"$work/base.spec"
    rpmbuild -bb --quiet --define "_topdir $work/base" "$work/base.spec"
}

rpms() {
    local el=$work/el how policy='' before
    root trixie "$el" # whose systemd-sysusers is real
    in_rpm() {
        # Debian's rpm warns of itself, unless it is told that this is no mistake.
        [[ $1 != -[iUe] ]] || set -- --force-debian "$@"
        rpm --root "$el" --dbpath /var/lib/rpm "$@"
    }
    before=$(tree_hash "$el/etc/ssh")
    refused 'an rpm whose requirements are missing' in_rpm --test -i --nosignature "$server_rpm"
    in_rpm -i --nosignature "$work/base/RPMS/noarch/"*.rpm
    in_rpm --import "$work/RPM-GPG-KEY-bcmr"

    for how in watched failing absent; do
        sysusers "$el" "$how"
        no_groups "$el"
        in_rpm -i "$server_rpm" >"$el/rpm.log" 2>&1 || { cat "$el/rpm.log"; die 'rpm -i'; }
        has_groups "$el" "with systemd-sysusers $how"
        [ "$how" != watched ] || has -x bcmr-serve.conf "$el/sysusers.log" || die 'rpm: systemd-sysusers was not asked'
        in_rpm -e bcmr-serve
        [ ! -e "$el/etc/bcmr" ] && [ ! -e "$el/usr/share/doc/bcmr-serve" ] || die 'rpm -e left something'
    done

    no_groups "$el"
    groupadd_gone "$el"
    in_rpm -i "$server_rpm" >"$el/rpm.log" 2>&1
    has 'the group bcmr-mirror could not be made' "$el/rpm.log" || die 'rpm: groups are missing in silence'
    groupadd_back "$el"
    in_rpm -e bcmr-serve

    in_rpm -i "$older_rpm" "$client_rpm"
    in_rpm -V bcmr-serve bcmr || die 'rpm -V'
    [ "$(stat -c %a:%u "$el/etc/bcmr")" = 755:0 ]
    [ -e "$el/usr/share/doc/bcmr-serve/examples/older" ]
    account "$el"
    edited "$el"
    installed() { in_rpm -q --qf '%{VERSION}-%{RELEASE}' bcmr-serve; }
    [ "$(installed)" = "$older" ]
    in_rpm -U "$server_rpm"
    [ "$(installed)" = "$version-1" ] || die "rpm -U: $(installed)"
    [ ! -e "$el/usr/share/doc/bcmr-serve/examples/older" ] || die 'rpm -U left a file of the older version'
    untouched "$el" 'rpm -U'
    idle "$el" 'after an upgrade'
    in_rpm -V bcmr-serve || die 'rpm -V'
    [ "$(tree_hash "$el/etc/ssh")" = "$before" ] || die 'rpm: something changed in /etc/ssh'
    serves "$el"
    refused 'an older version without being asked' in_rpm -U "$older_rpm"
    in_rpm -U --oldpackage "$older_rpm"
    [ "$(installed)" = "$older" ] || die "rpm -U --oldpackage: $(installed)"
    untouched "$el" 'rpm -U --oldpackage'
    in_rpm -e bcmr-serve bcmr
    [ ! -e "$el/usr/bin/bcmr-serve" ] && [ ! -e "$el/usr/share/doc/bcmr-serve" ] || die 'rpm -e left something'
    untouched "$el" 'rpm -e'
    has_groups "$el" 'after rpm -e'
    umount "$el/proc"
    say "installed, verified, served, upgraded from $older, downgraded, erased; the policy untouched;" \
        'groups with systemd-sysusers watched, failing, absent'
    rm -rf --one-file-system "$el"
}
