# generated.sh - a stored generated column that a claim makes anew.

. "$bench/tables/common.sh"
table_title='a stored generated column'
columns="is_open boolean not null generated always as (state <> 'done') stored,"
