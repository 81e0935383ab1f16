# roots.sh - other Debian systems in directories, to build and test in. Sourced, after lib.sh.
#
# Example:
#     require_roots
#     make_root trixie /var/tmp/roots/trixie
#     inside /var/tmp/roots/trixie apt-get -q update

# The mirror that this machine uses.
mirror() {
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | sed -n 1p
}

# Runs a command in another root. The mounts are in a namespace of their own, and go
# with it, as do all the processes. The first of these is bash: some programs do not
# work as process 1, timeout among them. It is not chroot, where no user may make the
# namespace that the storm mounts its small disks in.
inside() {
	local root=$1 name settings=()
	shift
	for name in ${!QUEUE_EXT_@} SUITE_TIMEOUT; do
		[[ -z ${!name:-} ]] || settings+=("$name=${!name}")
	done
	# shellcheck disable=SC2016
	unshare --mount --pid --fork --kill-child --mount-proc="$root/proc" \
		bash -c 'mount --rbind "$1" "$1" && cd "$1" && pivot_root . mnt && cd / && umount -l /mnt || exit
			shift
			env -i "$@"
			exit $?' bash "$root" HOME=/root LC_ALL=C.UTF-8 TERM="${TERM:-dumb}" \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		npm_config_cafile=/etc/ssl/queue_ext-ca.crt ${http_proxy:+http_proxy="$http_proxy"} \
		"${settings[@]}" "$@"
}

# A root of a Debian suite, with what debootstrap calls minbase, that asks the mirror that this machine uses. Its
# log is beside it.
make_root() {
	local suite=$1 root=$2 from proxy
	from=$(mirror)
	[[ -n $from ]] || die "apt names no Debian mirror"
	# A half-made root is not one: it gets its name when it is complete.
	rm -rf "$root.part"
	debootstrap --variant=minbase "$suite" "$root.part" "$from" >"$root.log" 2>&1 ||
		{ tail -20 "$root.log" >&2; return 1; }
	# A mirror may be a snapshot.
	say 'Acquire::Check-Valid-Until "false";' >"$root.part/etc/apt/apt.conf.d/90queue_ext"
	proxy=$(apt-config shell p Acquire::http::Proxy | sed "s/^p='\(.*\)'\$/\1/")
	if [[ -n $proxy ]]; then
		say "Acquire::http::Proxy \"$proxy\";" >>"$root.part/etc/apt/apt.conf.d/90queue_ext"
	fi
	mv "$root.part" "$root"
}

# So that npm can fetch there, also through a proxy that this machine trusts.
trust_authorities() {
	mkdir -p "$1/etc/ssl" && cp -L /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/queue_ext-ca.crt"
}

# Whether roots can be made and entered here.
require_roots() {
	((EUID == 0)) || die "needs root, to mount"
	command -v debootstrap >/dev/null || die "needs debootstrap: apt-get install debootstrap"
}
