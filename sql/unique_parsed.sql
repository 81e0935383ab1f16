-- A unique insert within the parsing of another one's statement, by the check of a domain
-- in a literal of "among", with other columns null: each keeps its own statement.
set client_min_messages = error;
create schema test_unique_parsed;
set search_path = test_unique_parsed, public;
create table items (id integer, a integer, b integer);
create function insert_another() returns boolean language plpgsql set search_path = test_unique_parsed, public as $$
begin
	if current_setting('parsed.goes_on') = 'yes' then
		set parsed.goes_on = 'no';
		perform queue_unique_insert_row(row(0, null, 5)::items, '{a, b}', $c$'(1)'::test_unique_parsed.pair is not null$c$);
	end if;
	return true;
end $$;
create domain checked as integer check (insert_another());
create type pair as (value checked);
create function inserted(a integer, b integer) returns boolean language sql volatile as $$
	select inserted from queue_unique_insert_row(row(0, a, b)::items, '{a, b}', $c$'(1)'::test_unique_parsed.pair is not null$c$)
$$;
set parsed.goes_on = 'no';
-- The rule is made by now, its statements for rows without nulls are not.
select inserted(null, null);
set parsed.goes_on = 'yes';
select inserted(1, 1);
show parsed.goes_on;
select inserted(null, 5), inserted(1, 1), inserted(null, 5), inserted(1, 1), inserted(null, null);
select a, b, count(*) from items group by 1, 2 having count(*) > 1;
drop schema test_unique_parsed cascade;
