# aarch64, as far as an emulator goes.

# emulated: programs that tests can start as if they were this machine's.
emulated() {
    local package
    mkdir "$work/arm"
    for package in bcmr-serve bcmr; do
        cp "$work/tree-$package-aarch64/usr/bin/$package" "$work/arm/$package.arm"
        # What the wrapper is called is what the program sees, since its own name means something to it.
        printf '#!/bin/sh\nexec qemu-aarch64-static -0 "$0" "%s" "$@"\n' "$work/arm/$package.arm" >"$work/arm/$package"
        chmod 755 "$work/arm/$package"
        "$work/arm/$package" --version | has '^target: aarch64-unknown-linux-musl$' || die "$package does not run"
    done
}

protocol() {
    (cd "$top" && BCMR_BIN_DIR=$work/arm BCMR_SLOWNESS=10 cargo nextest run --locked --package bcmr-tests --test verbs \
        --no-fail-fast --status-level fail --final-status-level fail) || die 'aarch64: protocol tests'
    say 'the protocol tests pass under qemu-aarch64-static'
}

# The emulator has no seccomp, but tells each call: from where the filter would hold, all must be in its list.
calls() {
    local arm=$work/arm needed missing
    printf '#!/bin/sh\nexport XDG_STATE_HOME="%s/state"\nexec qemu-aarch64-static -strace "%s" --root "%s" 2>>"%s"\n' \
        "$arm" "$arm/bcmr-serve.arm" "$arm/root" "$arm/calls" >"$arm/traced"
    chmod 755 "$arm/traced"
    mkdir "$arm/root"
    "$client" --via "$arm/traced" copy -q -r "$here" "$work/payload" :
    "$client" --via "$arm/traced" copy -q :payload "$arm/back"
    cmp "$work/payload" "$arm/back"
    awk '/ set_tid_address\(/ { held = 0 } held { print } / seccomp\(/ { held = 1 }' "$arm/calls" |
        grep -oE '[0-9]+ [a-z_0-9]+\(' | sed 's/.* //; s/($//' | sort -u >"$arm/made"
    for needed in linkat pwrite64 getdents64; do has -x "$needed" "$arm/made" || die "no $needed in the trace"; done
    grep -oE '^ +SYS_[a-z0-9_]+' "$top/policy/src/sandbox/calls.rs" | sed 's/.*SYS_//' | sort -u >"$arm/listed"
    missing=$(comm -23 "$arm/made" "$arm/listed" | xargs)
    [ -z "$missing" ] || die "aarch64: calls that seccomp would end: $missing"
    say "the $(wc -l <"$arm/made") calls of uploads and downloads are in the list of seccomp"
}
