# trigger.sh - the trigger that most applications have.

. "$bench/tables/common.sh"
table_title='a trigger before the update keeps `updated_at`'
columns='updated_at timestamptz not null default now(),'

change_table() {
	sql <<-'SQL'
		create function keep_time() returns trigger language plpgsql as $$
		begin
			new.updated_at = clock_timestamp();
			return new;
		end $$;
		create trigger keep_time before update on job for each row execute function keep_time();
	SQL
}
