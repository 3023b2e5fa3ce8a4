# A site's own repositories, made by the commands of packaging/README.md.

# site_apt: /srv/apt of README.md, with two versions of the server, signed.
site_apt() {
    mkdir "$work/apt"
    cp "$first"/*.deb "$work/bcmr-serve_${older}_amd64.deb" "$work/apt"
    gpg --batch --quiet --passphrase '' --quick-gen-key 'New <new@example.org>' rsa3072 sign never
    sign_apt ops@example.org
}
# sign_apt KEY
sign_apt() {
    rm -f "$work/apt/InRelease"
    bash -euc "$(readme 'cd /srv/apt' | sed "s|/srv/apt|$work/apt|; s|ops@example.org|$1|")" 2>"$work/log" ||
        { cat "$work/log"; die 'the apt repository'; }
    [ -s "$work/apt/InRelease" ] && [ -s "$work/apt/bcmr.gpg" ]
}

# apt_hosts ROOT: what a host does with that: install, go back, upgrade, and refuse what it does not trust.
apt_hosts() {
    local host=$1 policy=''
    apt_in() {
        rm -rf "$host/srv/apt"
        cp -r "$work/apt" "$host/srv/"
        # apt only warns where it has lists from before.
        chroot "$host" sh -c 'rm -rf /var/lib/apt/lists/* && apt-get -q -o APT::Update::Error-Mode=any update' >"$host/apt.log" 2>&1 || return
        [ $# -eq 0 ] || chroot "$host" apt-get -q -y --allow-downgrades "$@" >"$host/apt.log" 2>&1 || return
    }
    apt_must() { apt_in "$@" || { cat "$host/apt.log"; die "$host: apt-get $*"; }; }
    apt_refuses() { local what=$1; if apt_in; then cat "$host/apt.log"; die "$host: apt took $what"; fi; }
    has_version() { [ "$(chroot "$host" dpkg-query -W -f '${Version}' bcmr-serve)" = "$1" ] || die "$host: apt has not left $1"; }
    rm -rf "$host"/etc/apt/sources.list "$host"/etc/apt/sources.list.d/* "$host/etc/bcmr"
    mkdir -p "$host/etc/apt/keyrings"
    readme '# /etc/apt/sources.list.d/bcmr.sources' | sed 's|https://apt.example.org/|file:/srv/apt/|' \
        >"$host/etc/apt/sources.list.d/bcmr.sources"
    apt_refuses 'a repository whose key it has not'
    cp "$work/apt/bcmr.gpg" "$host/etc/apt/keyrings/"
    apt_must install --no-install-recommends bcmr-serve bcmr
    has_version "$version-1"
    edited "$host"
    apt_must install --no-install-recommends "bcmr-serve=$older"
    has_version "$older"
    apt_must upgrade --no-install-recommends
    has_version "$version-1"
    untouched "$host" apt
    # A changed list, then a key that is rotated: trusted beside the old one, then alone.
    sed -i 's/^Date: ./Date: X/' "$work/apt/InRelease"
    apt_refuses 'a changed list'
    sign_apt new@example.org
    apt_refuses 'the signature of a key that it has not yet'
    gpg --export ops@example.org new@example.org >"$host/etc/apt/keyrings/bcmr.gpg"
    apt_must
    gpg --export new@example.org >"$host/etc/apt/keyrings/bcmr.gpg"
    apt_must
    sign_apt ops@example.org
    apt_refuses 'the signature of a key that was taken away'
    chroot "$host" dpkg --purge bcmr-serve bcmr >/dev/null 2>&1
    say "$(chroot "$host" apt-get --version | sed -n '1s/ (.*//p'): installed, went back and upgraded from a site's repository;" \
        'unknown, changed and removed signatures refused; a key rotated'
}

# dnf_hosts: the same by dnf, Debian's, into a root that stands for a host of EL or Fedora.
dnf_hosts() {
    local host=$work/dnf site=$work/rpm policy=''
    mkdir "$site"
    cp "$signed"/*.rpm "$older_rpm" "$site"
    make_site() {
        bash -euc "$(readme 'cd /srv/rpm' | sed "s|/srv/rpm|$site|")" >"$work/log" 2>&1 || { cat "$work/log"; die 'the dnf repository'; }
    }
    make_site
    root bookworm "$host"
    mkdir -p "$host/etc/yum.repos.d" "$work/base/repo"
    cp "$work/base/RPMS/noarch/"*.rpm "$work/base/repo"
    createrepo_c --quiet "$work/base/repo"
    readme '# /etc/yum.repos.d/bcmr.repo' | sed "s|https://rpm.example.org/|file://$site/|" >"$host/etc/yum.repos.d/bcmr.repo"
    printf '%s\n' '[base]' 'name=base' "baseurl=file://$work/base/repo/" 'gpgcheck=0' >"$host/etc/yum.repos.d/base.repo"
    dnf_in() {
        HOME=$work/dnf-home dnf --quiet --assumeyes --installroot "$host" --releasever 9 --setopt "reposdir=$host/etc/yum.repos.d" \
            --refresh "$@" >"$work/log" 2>&1
    }
    dnf_must() { dnf_in "$@" || { cat "$work/log"; die "dnf $*"; }; }
    has_rpm() { [ "$(HOME=$work/dnf-home rpm --root "$host" -q --qf '%{VERSION}-%{RELEASE}' bcmr-serve)" = "$1" ] || die "dnf has not left $1"; }
    dnf_must install bcmr-serve bcmr
    has_rpm "$version-1"
    has_groups "$host" 'after dnf install'
    edited "$host"
    dnf_must downgrade bcmr-serve
    has_rpm "$older"
    dnf_must upgrade
    has_rpm "$version-1"
    untouched "$host" dnf
    dnf_must remove bcmr-serve
    [ ! -e "$host/usr/bin/bcmr-serve" ] || die 'dnf left the program'
    untouched "$host" 'dnf remove'
    # Control: a package of no key, then a changed list of packages.
    cp "$first/bcmr-serve-$version-1.x86_64.rpm" "$site"
    make_site
    refused 'an rpm that nobody signed' dnf_in install bcmr-serve
    has 'is not signed' "$work/log" || { cat "$work/log"; die 'dnf refused for another reason'; }
    cp "$signed/bcmr-serve-$version-1.x86_64.rpm" "$site"
    make_site
    dnf_must install bcmr-serve
    echo '<!-- changed -->' >>"$site/repodata/repomd.xml"
    dnf_in clean all
    refused 'a changed repomd.xml' dnf_in downgrade bcmr-serve
    umount "$host/proc"
    say "dnf $(dnf --version | head -1): installed, downgraded, upgraded and removed from a site's repository; unsigned and changed refused"
    rm -rf --one-file-system "$host"
}
