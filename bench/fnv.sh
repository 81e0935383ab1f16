#!/bin/sh
# What a key function costs for 1 kB of text, beside PostgreSQL's own hash and
# beside what the algorithm itself demands. Prints a Markdown table of medians.
#
# Usage: bench/fnv.sh [rounds]
# Connects as psql does (PGHOST, PGDATABASE, ...) to a database in which
# queue_ext is installed and on the search_path. Every round measures everything
# once, so a slow moment of the machine falls on all alike; a ratio is the median
# of the rounds' own ratios.
set -eu

rounds=${1:-9}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"${CXX:-g++}" -std=c++17 -O2 -I"$here/../src" -o "$work/bound" "$here/fnv_bound.cpp"

round=1
while [ "$round" -le "$rounds" ]; do
	{ "$work/bound"; psql -X -q -f "$here/fnv.sql"; } | sed "s/^/$round|/" >>"$work/samples"
	round=$((round + 1))
done

awk -F'|' -v rounds="$rounds" '
function median(name, values,    n, i, j, sorted, swap) {
	n = 0
	for (i = 1; i <= rounds; i++)
		sorted[++n] = values[name, i]
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && sorted[j - 1] > sorted[j]; j--) {
			swap = sorted[j]; sorted[j] = sorted[j - 1]; sorted[j - 1] = swap
		}
	return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
}
{
	if (!($2 in seen)) {
		seen[$2] = 1
		names[++count] = $2
	}
	cost[$2, $1] = $3
}
END {
	for (i = 1; i <= count; i++)
		for (round = 1; round <= rounds; round++) {
			to_bound[names[i], round] = cost[names[i], round] / cost["bound", round]
			to_core[names[i], round] = cost[names[i], round] / cost["hashtextextended", round]
		}
	print "| 1 kB of text | ns a call | to the bound | to hashtextextended |"
	print "|---|---:|---:|---:|"
	for (i = 1; i <= count; i++)
		printf "| %s | %.0f | %.2f | %.2f |\n", names[i] == "bound" ? "bound: the bare multiply chain" : names[i], \
			median(names[i], cost), median(names[i], to_bound), median(names[i], to_core)
}' "$work/samples"
