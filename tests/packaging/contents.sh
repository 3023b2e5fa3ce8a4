# What is in the packages.

# unpack: a tree of each package, which later sections use, too.
unpack() {
    local arch package
    for arch in x86_64 aarch64; do
        for package in bcmr-serve bcmr; do
            dpkg-deb -x "$(one "$first/${package}_"*"_$(deb_arch "$arch").deb")" "$work/tree-$package-$arch"
        done
    done
}

# kind ARCH: how file(1) calls its programs.
kind() { case $1 in x86_64) echo x86-64 ;; aarch64) echo 'ARM aarch64' ;; esac; }

contents() {
    local arch package tree program size path sbom
    for arch in x86_64 aarch64; do
        for package in bcmr-serve bcmr; do
            tree=$work/tree-$package-$arch
            program=$tree/usr/bin/$package
            size=$(wc -c <"$program")
            [ "$size" -le $((4 << 20)) ] || die "$package for $arch has $size bytes"
            say "$package for $arch: $size bytes"
            file "$program" | has "$(kind "$arch"), .*static-pie linked, .*stripped\$" || die "$(file "$program")"
            readelf -SW "$program" | has '\.dep-v0' || die "$package for $arch does not say what it is made of"
            strings "$program" >"$work/strings"
            for path in "$top" "$HOME" "$work"; do
                [ "$path" = / ] || [ -z "$path" ] || ! grep -qF "$path/" "$work/strings" || die "$program has $path in it"
            done
            sbom=$first/$package-$version-$arch.cdx.json
            grep -q '"bomFormat": *"CycloneDX"' "$sbom"
            grep -q 'pkg:cargo/blake3@' "$sbom"
            ! grep -qE "$top/|$HOME/|/tmp" "$sbom" || die "$sbom has paths of this machine"
            [ "$(dpkg-deb -f "$(one "$first/${package}_"*"_$(deb_arch "$arch").deb")" Architecture)" = "$(deb_arch "$arch")" ]
            [ "$(rpm -qp --qf '%{ARCH}' "$(one "$first/$package-$version"*".$arch.rpm")")" = "$arch" ]
            # The three forms have the same program and the same pages.
            (cd "$work" && mkdir rpm-tree tar-tree && cd rpm-tree &&
                rpm2cpio "$(one "$first/$package-$version"*".$arch.rpm")" | cpio -idm --quiet)
            tar -C "$work/tar-tree" --strip-components=1 -xf "$first/$package-$version-$arch-linux.tar.gz"
            cmp "$program" "$work/rpm-tree/usr/bin/$package"
            cmp "$program" "$work/tar-tree/bin/$package"
            diff -r "$tree/usr/share/man" "$work/rpm-tree/usr/share/man"
            diff -r "$tree/usr/share/man" "$work/tar-tree/share/man"
            rm -rf "$work/rpm-tree" "$work/tar-tree"
        done
    done
    list() { (cd "$work/tree-$1-$2" && find . -type f | sort); }
    for package in bcmr-serve bcmr; do
        diff <(list "$package" x86_64) <(list "$package" aarch64) || die "$package has other files on aarch64"
    done
    promised
    say 'static PIE, at most 4 MiB, auditable, no paths of the build; deb, rpm and tarball agree'
}

# promised: what README.md says is installed is there.
promised() {
    local server=$work/tree-bcmr-serve-x86_64 client=$work/tree-bcmr-x86_64 file profile
    for file in usr/bin/bcmr-serve usr/share/man/man8/bcmr-serve.8.gz usr/share/man/man5/bcmr-policy.5.gz \
        usr/share/bash-completion/completions/bcmr-serve usr/share/zsh/vendor-completions/_bcmr-serve \
        usr/share/fish/vendor_completions.d/bcmr-serve.fish usr/lib/sysusers.d/bcmr-serve.conf \
        usr/share/doc/bcmr-serve/{copyright,third-party-licences.gz} \
        usr/share/doc/bcmr-serve/examples/{README.md,policy.toml,sshd.conf,authorized_keys}; do
        [ -s "$server/$file" ] || die "bcmr-serve has no $file"
    done
    for file in usr/bin/bcmr usr/share/man/man1/bcmr.1.gz usr/share/bash-completion/completions/bcmr \
        usr/share/zsh/vendor-completions/_bcmr usr/share/fish/vendor_completions.d/bcmr.fish \
        usr/share/doc/bcmr/{copyright,third-party-licences.gz}; do
        [ -s "$client/$file" ] || die "bcmr has no $file"
    done
    for profile in upload dropbox mirror; do
        grep -q "^\[profile.$profile\]" "$server/usr/share/doc/bcmr-serve/examples/policy.toml" || die "no profile $profile"
    done
    [ "$(stat -c %a "$server/etc/bcmr")" = 755 ]
    [ -z "$(ls -A "$server/etc/bcmr")" ] || die 'a live policy is shipped'
    [ "$(ls "$server/etc")" = bcmr ] && [ ! -e "$client/etc" ] || die 'something else is shipped in /etc'
    "$server/usr/bin/bcmr-serve" --version >"$work/version"
    for file in "^bcmr-serve $version" '^commit: [0-9a-f]{40}' '^target: x86_64-unknown-linux-musl$' '^sandbox: Landlock'; do
        grep -qE "$file" "$work/version" || { cat "$work/version"; die "--version has no $file"; }
    done
    # Pre-releases must come first for both.
    dpkg --compare-versions '1.0.0~rc.1-1' lt 1.0.0-1
    [ "$(rpm --eval '%{lua: print(rpm.vercmp("1.0.0~rc.1", "1.0.0"))}')" = -1 ] || die 'rpm sorts pre-releases otherwise'
}
