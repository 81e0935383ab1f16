# pg-boss - see peers/pg-boss.mjs.

title='pg-boss'
driver=pg-boss
kinds='claim idle drain life'
. "$bench/sides/node.sh"
