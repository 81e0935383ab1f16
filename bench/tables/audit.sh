# audit.sh - a trigger that logs each change of a job.

. "$bench/tables/common.sh"
table_title='a trigger after the update writes an audit log'

change_table() {
	sql <<-'SQL'
		create table job_log (
			id bigint primary key generated always as identity,
			job_id bigint not null,
			old_state text,
			new_state text,
			at timestamptz not null default now()
		);
		create function log_state() returns trigger language plpgsql as $$
		begin
			insert into job_log (job_id, old_state, new_state) values (new.id, old.state, new.state);
			return null;
		end $$;
		create trigger log_state after update on job for each row execute function log_state();
	SQL
}
