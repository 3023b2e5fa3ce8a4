# Signatures, by keys that are thrown away.

# new_keys: what README.md has its readers make, without a passphrase. Other sections sign with them.
new_keys() {
    export GNUPGHOME=$work/gnupg
    mkdir -m 700 "$GNUPGHOME"
    gpg --batch --quiet --passphrase '' --quick-gen-key 'Ops <ops@example.org>' rsa3072 sign never
    gpg --batch --armor --export ops@example.org >"$work/RPM-GPG-KEY-bcmr"
    minisign -GW -p "$work/bcmr.pub" -s "$work/bcmr.key" >/dev/null
    cp -r "$first" "$signed"
    "$top/packaging/sign" --gpg ops@example.org --minisign "$work/bcmr.key" "$signed" >/dev/null 2>"$work/log" ||
        { cat "$work/log"; die 'packaging/sign'; }
}

signatures() {
    local spoilt=$work/spoilt spoilt_rpm
    cmp "$signed/SHA256SUMS.unsigned" "$first/SHA256SUMS"
    cp -r "$signed" "$spoilt"
    cp "$work/bcmr.pub" "$work/RPM-GPG-KEY-bcmr" "$spoilt"
    # rpm keeps what it trusts below HOME here.
    mkdir "$work/home"
    verify() { (cd "$spoilt" && HOME=$work/home bash -euc "$(readme 'minisign -V')") 2>&1; }
    verify >"$work/log" || { cat "$work/log"; die 'the signatures do not verify'; }
    grep -q '^Signature and comment signature verified' "$work/log"
    [ "$(grep -c 'digests signatures OK$' "$work/log")" = 4 ] || { cat "$work/log"; die 'rpm -K'; }
    rpm_k() { HOME=$work/home rpm -K "$@" 2>&1; }
    rpm_k "$first"/*.rpm | has signatures && die 'an unsigned rpm counts as signed'
    printf x >>"$spoilt/bcmr-$version-x86_64.cdx.json"
    refused 'a changed file' verify
    spoilt_rpm=$(one "$spoilt/bcmr-serve-"*.x86_64.rpm)
    printf 'x' | dd of="$spoilt_rpm" bs=1 seek=$(($(wc -c <"$spoilt_rpm") - 1000)) conv=notrunc status=none
    refused 'a changed rpm' rpm_k "$spoilt_rpm"
    # A key that was taken away is trusted no more.
    HOME=$work/home rpm --force-debian -e "$(HOME=$work/home rpm -q gpg-pubkey)"
    refused 'what a removed key signed' rpm_k "$signed"/*.rpm
    refused 'to sign twice' "$top/packaging/sign" --minisign "$work/bcmr.key" "$signed"
    # A new public key, signed by the old one, as when keys are rotated.
    minisign -GW -p "$work/new.pub" -s "$work/new.key" >/dev/null
    minisign -S -s "$work/bcmr.key" -m "$work/new.pub" >/dev/null
    minisign -Vq -p "$work/bcmr.pub" -m "$work/new.pub"
    refused 'what another key signed' minisign -Vq -p "$work/new.pub" -m "$work/new.pub"
    say 'minisign and rpm -K accept what was signed, by the commands of README.md; changed files are refused'
}
