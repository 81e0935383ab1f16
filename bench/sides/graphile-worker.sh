# graphile-worker - see peers/graphile-worker.mjs.

title='graphile-worker'
driver=graphile-worker
kinds='drain life'
. "$bench/sides/node.sh"
