# graphile-worker - see peers/graphile-worker.mjs.

begins_empty=1
title='graphile-worker'
driver=graphile-worker
kinds='drain life'
. "$bench/sides/node.sh"
