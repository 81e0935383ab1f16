-- Literals of arrays, bytes and quotes mean the same whatever settings the session has, and
-- the queue's ring is the same: a session with settings of its own does not make it anew.
set client_min_messages = error;
set queue_ext.claim_path = direct;
create schema test_literals;
set search_path = test_literals, public;
create table items (id integer primary key, tags text[], data bytea, note text, taken boolean not null default false);
insert into items values (1, '{a,NULL}', '\x5c00', ''''), (2, '{a,"NULL"}', '\x5c00', ''''), (3, '{a,NULL}', '\x00', '''');
select queue_attach('q', 'items', $$tags = '{a,null}' and data = '\x5c00' and note = E'\'' and not taken$$, 'id', 'taken = true');
create function pop_anew() returns text language plpgsql as $$
declare
	popped text;
begin
	alter table items set (fillfactor = 90);
	alter table items reset (fillfactor);
	select string_agg(id::text, ', ') into popped from queue_pop_rows(null::items, 'q', 3);
	update items set taken = false;
	return popped;
end $$;
select pop_anew();
set array_nulls = off;
select pop_anew();
set backslash_quote = off;
select pop_anew();
set bytea_output = 'escape';
select pop_anew();
set quote_all_identifiers = on;
select pop_anew();
show array_nulls;
reset array_nulls;
reset backslash_quote;
reset bytea_output;
reset quote_all_identifiers;
select claims from queue_claim_stats where queue = 'test_literals.q';
drop schema test_literals cascade;
