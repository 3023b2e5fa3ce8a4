# The tarball, by someone without rights.

tarball() {
    cp -r "$first" "$work/public"
    mkdir -m 777 "$work/public/home"
    chmod 755 "$work" "$work/public"
    (cd "$work/public/home" && setpriv --reuid 65534 --regid 65534 --clear-groups sh -eu -c "
        for package in bcmr-serve bcmr; do
            tar -xf ../\$package-$version-x86_64-linux.tar.gz
            \$package-$version-x86_64-linux/install.sh --prefix \$PWD/local >/dev/null
        done
        local/bin/bcmr serve --version | grep -q '^bcmr-serve $version'
        local/bin/bcmr --version | grep -q '^commit: '
        mkdir root
        local/bin/bcmr --via \"\$PWD/local/bin/bcmr-serve --root \$PWD/root\" copy -q local/bin/bcmr :copy
        cmp root/copy local/bin/bcmr
        for package in bcmr-serve bcmr; do
            \$package-$version-x86_64-linux/install.sh --uninstall --prefix \$PWD/local
        done
        [ -z \"\$(find local -mindepth 1 2>/dev/null)\" ]
    ") || die 'tarball'
    say 'installed in a home directory without rights, used, and removed without a trace'
}
