# Two builds of one source, which must be the same.

# sources DIR: what the repository holds, in a place of its own.
sources() {
    mkdir -p "$1"
    git -C "$top" ls-files -z --cached --others --exclude-standard | tar -C "$top" --null -T - -c | tar -C "$1" -x
}

# build_twice: $first, and a second build that everything differs for which must not matter. The two go on side by
# side: what one leaves of the processors, as while it links, the other takes.
build_twice() {
    local second=$work/second-under-another-name cargo_home=${CARGO_HOME:-$HOME/.cargo} kept other file same=0
    # Crates are downloaded once, before, so that no registry is asked twice.
    (cd "$top" && cargo fetch --quiet --locked)
    sources "$work/elsewhere/deep/src"
    mkdir "$work/cargo-home"
    for kept in config.toml registry/index registry/cache; do
        [ ! -e "$cargo_home/$kept" ] || (cd "$cargo_home" && cp -r --parents --reflink=auto "$kept" "$work/cargo-home")
    done
    # rustup and cargo's subcommands stay where they are.
    (umask 077 && TZ=Pacific/Apia CARGO_HOME=$work/cargo-home CARGO_TARGET_DIR=$work/target LANG=C.UTF-8 \
        RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} PATH=$PATH:$cargo_home/bin \
        unshare --uts sh -c 'hostname elsewhere && exec "$@"' sh \
        "$work/elsewhere/deep/src/packaging/build" --out "$second") >"$work/second.log" 2>&1 &
    other=$!
    "$top/packaging/build" --out "$first" >"$work/first.log" 2>&1 || { tail -20 "$work/first.log"; die 'the build failed'; }
    grep ' bytes$' "$work/first.log"
    wait "$other" || { tail -20 "$work/second.log"; die 'the second build failed'; }
    for file in "$second"/*; do
        cmp "$file" "$first/${file##*/}" || die "not reproducible: ${file##*/}"
        same=$((same + 1))
    done
    # Three forms and an SBOM of two programs for two architectures, and SHA256SUMS.
    [ "$same" = 17 ] || die "$same files were compared"
    say "reproducible: $same files, the same from two directories, cargo homes, time zones, umasks and host names"
    rm -rf "$work/target" "$work/cargo-home" "$work/elsewhere"
}

# host_builds: programs for this machine that later sections need, while others go on: one that is not static, as the
# control of those that are, and the protocol tests.
host_builds() {
    cd "$top"
    cargo build --quiet --locked --package bcmr-serve
    cargo nextest run --locked --package bcmr-tests --test verbs --no-run
}
# host_built JOB
host_built() {
    wait "$1" || { tail -20 "$work/host.log"; die 'the build for this machine failed'; }
    [ "$("$dynamic" --version | head -1)" = "bcmr-serve $version" ]
}
