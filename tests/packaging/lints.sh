# What lintian, rpmlint and an old rpm say.

# All that a package may ask for, EL7's rpm among what must satisfy it: `rpm --showrc` there lists these rpmlib features.
el7='/bin/sh
openssh-clients
rpmlib(CompressedFileNames) <= 3.0.4-1
rpmlib(FileDigests) <= 4.6.0-1
rpmlib(PayloadFilesHavePrefix) <= 4.0-1
rpmlib(TildeInVersions) <= 4.10.0-1'

# known_to_el7 RPM
known_to_el7() {
    local needs
    needs=$(rpm -qp --requires "$1" | sort -u)
    ! grep -vxF "$el7" <<<"$needs" || die "$1 asks for what EL7 has not"
    [ "$(rpm -qp --qf '%{PAYLOADCOMPRESSOR}' "$1")" = gzip ] || die "$1: EL7 cannot unpack it"
}

lints() {
    local file
    lintian --fail-on error,warning --tag-display-limit 0 "$first"/*.deb 2>&1 | sed '/running with root privileges/d'
    rpmlint -c "$top/packaging/rpm/rpmlint.toml" "$signed"/*.rpm >"$work/log" 2>&1 || { cat "$work/log"; die 'rpmlint'; }
    grep checked "$work/log"
    for file in "$first"/*.rpm; do known_to_el7 "$file"; done
    say "lintian and rpmlint clean; rpm requirements are among those that EL7 knows"
}
