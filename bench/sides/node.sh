# node.sh - what the peers for Node.js share: peers/$driver.mjs does it all.

available() {
	[[ -n ${bench_node:-} ]]
}

drive() {
	PAYLOAD=$payload SECONDS_A_RUN=${seconds:-} JOB_LIMIT=${job_limit:-} \
		PGOPTIONS="-c synchronous_commit=${sync:-off}" \
		"$bench_node" --no-warnings "$bench/peers/$driver.mjs" "$@"
}

build() {
	drive build "$1"
}

run() {
	[[ " $kinds " == *" $1 "* ]] || return 2
	drive "$1" "$2" "$3"
}

series() {
	SERIES=1 run "$@"
}
