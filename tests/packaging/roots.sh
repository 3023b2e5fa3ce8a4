# Roots of Debian releases, and what is done in each.

# fetch_root SUITE: an archive of a fresh root, unless there is one from before.
fetch_root() {
    local suite=$1 mirror
    mkdir -p "$roots"
    [ ! -e "$roots/$suite.tar" ] || return 0
    mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n '0,/^Debian /s/^Debian //p')
    [ -n "$mirror" ] || die 'apt has no mirror of Debian'
    debootstrap --variant=minbase --include=openssh-server "$suite" "$work/bootstrap-$suite" "$mirror" >"$work/$suite.log" 2>&1 ||
        { tail -5 "$work/$suite.log"; die "debootstrap $suite"; }
    rm -rf "$work/bootstrap-$suite"/var/{cache/apt/archives,lib/apt/lists}/*
    tar -C "$work/bootstrap-$suite" -cf "$roots/$suite.tar.new" . && mv "$roots/$suite.tar.new" "$roots/$suite.tar"
    rm -rf --one-file-system "$work/bootstrap-$suite"
}

# fetch_roots: all at once; each waits for the mirror most of the time.
fetch_roots() {
    local suite jobs=() job
    for suite in "${suites[@]}"; do
        fetch_root "$suite" &
        jobs+=($!)
    done
    for job in "${jobs[@]}"; do wait "$job"; done
}

# root SUITE DIR: that root, unpacked.
root() {
    mkdir "$2"
    tar -C "$2" -xf "$roots/$1.tar"
    mount -t proc proc "$2/proc"
}

# sysusers ROOT how: how the root's systemd-sysusers behaves from now on: absent, failing, or watched, which is the
# real one, whose calls /sysusers.log keeps.
sysusers() {
    local program=$1/usr/bin/systemd-sysusers real=$1/usr/bin/sysusers.real
    [ ! -e "$program" ] || [ -e "$real" ] || mv "$program" "$real"
    rm -f "$program" "$1/sysusers.log"
    case $2 in
    absent) return ;;
    failing) printf '#!/bin/sh\nexit 1\n' >"$program" ;;
    watched) printf '#!/bin/sh\necho "$@" >>/sysusers.log\nexec sysusers.real "$@"\n' >"$program" ;;
    esac
    chmod 755 "$program"
}

no_groups() {
    local group
    for group in upload dropbox mirror; do chroot "$1" groupdel "bcmr-$group" 2>/dev/null || :; done
    ! has '^bcmr-' "$1/etc/group" || die "$1 has groups still"
}

# has_groups ROOT WHEN
has_groups() {
    local group
    for group in upload dropbox mirror; do has "^bcmr-$group:" "$1/etc/group" || die "$1: no group bcmr-$group $2"; done
}

# idle ROOT WHEN: nothing runs in it.
idle() {
    local process
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/root")" != "$1" ] || die "$1: $(tr '\0' ' ' <"$process/cmdline") runs $2"
    done
}

# groupadd_gone ROOT, groupadd_back ROOT: as on a system that has not even that.
groupadd_gone() { mv "$1/usr/sbin/groupadd" "$1/usr/sbin/groupadd.gone"; }
groupadd_back() { mv "$1/usr/sbin/groupadd.gone" "$1/usr/sbin/groupadd"; }

# account ROOT: someone who may upload, set up as the examples say.
account() {
    chroot "$1" useradd --no-create-home --groups bcmr-upload --shell /usr/bin/bcmr-serve deploy
    chroot "$1" usermod --password '*' deploy
    mkdir -p "$1/etc/bcmr/keys" "$1/srv/upload/deploy"
    chroot "$1" chown deploy: /srv/upload/deploy
    cp "$work/user.pub" "$1/etc/bcmr/keys/deploy"
}

# edited ROOT: a policy that its operator has edited, to which no package may do anything: not to its bytes, owner,
# mode or times.
edited() {
    cp "$1/usr/share/doc/bcmr-serve/examples/policy.toml" "$1/etc/bcmr/"
    echo '# edited' >>"$1/etc/bcmr/policy.toml"
    policy=$(policy_of "$1")
}
policy_of() { sha256sum <"$1/etc/bcmr/policy.toml"; stat -c '%a %u %g %y %i' "$1/etc/bcmr/policy.toml"; ls -A "$1/etc/bcmr"; }
# untouched ROOT WHAT
untouched() { [ "$(policy_of "$1")" = "$policy" ] || die "$1: $2 touched the policy"; }

tree_hash() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum); }

# serves ROOT: a real upload from this host's client, through the root's own sshd and the example snippet.
serves() {
    local root=$1 log=$1/sshd.log config=$1/ssh.config port sshd rc=0
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    cp "$root/usr/share/doc/bcmr-serve/examples/sshd.conf" "$root/etc/ssh/sshd_config.d/bcmr.conf"
    mkdir -p "$root/run/sshd"
    chroot "$root" /usr/sbin/sshd -t
    chroot "$root" /usr/sbin/sshd -T -C user=deploy,host=localhost,addr=127.0.0.1,laddr=127.0.0.1,lport=22 |
        has -x 'forcecommand /usr/bin/bcmr-serve --profile upload'
    chroot "$root" /usr/sbin/sshd -T -C user=root,host=localhost,addr=127.0.0.1,laddr=127.0.0.1,lport=22 |
        has -x 'forcecommand none'
    chroot "$root" /usr/sbin/sshd -D -e -p "$port" -o ListenAddress=127.0.0.1 2>"$log" &
    sshd=$!
    printf '%s\n' 'Host remote' 'HostName 127.0.0.1' "Port $port" 'User deploy' "IdentityFile $work/user" \
        'IdentitiesOnly yes' 'StrictHostKeyChecking no' 'UserKnownHostsFile /dev/null' 'LogLevel ERROR' >"$config"
    for _ in $(seq 50); do ! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break; sleep 0.1; done
    "$client" --ssh-config "$config" copy -q "$work/payload" remote:/payload ||
        { cat "$log"; die "no upload through sshd of $root"; }
    cmp "$work/payload" "$root/srv/upload/deploy/payload"
    [ "$(stat -c %u "$root/srv/upload/deploy/payload")" = "$(chroot "$root" id -u deploy)" ]
    # Controls: what looks for processes sees them; the same login gets nothing else.
    ! (idle "$root" '') 2>/dev/null || die "nothing seems to run in $root"
    ssh -F "$config" remote id >"$root/out" 2>/dev/null || rc=$?
    [ "$rc" = 126 ] && [ ! -s "$root/out" ] || die "a command got $rc"
    rm "$root/srv/upload/deploy/payload" "$root/etc/ssh/sshd_config.d/bcmr.conf"
    kill "$sshd"
    wait "$sshd" 2>/dev/null || :
}
