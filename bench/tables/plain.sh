# plain.sh - nothing but columns and indexes.

. "$bench/tables/common.sh"
table_title='a plain table'
