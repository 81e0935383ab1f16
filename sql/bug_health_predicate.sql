-- To simplify the predicate of an index evaluates functions and domains of the table's owner: not with the rights of who
-- asks for the health of all queues, or changes one, and not with the owner's, under whatever path the caller has.

create role predicate_owner;
grant create on schema public to predicate_owner;
set role predicate_owner;
create table ran_as (who name);
grant insert on ran_as to public;
create function note() returns boolean language plpgsql volatile as $$ begin insert into public.ran_as values (current_user); return true; end $$;
create function fold(integer) returns boolean language plpgsql immutable as $$ begin perform public.note(); return true; end $$;
do $$ begin perform queue_create('folding'); end $$;
create index on folding (id) where fold(1);
create index on folding (priority, run_at, id) where dead_at is null and fold(2);
create index on folding (dead_at) where fold(3);
create index on folding (unique_key) where fold(4);
create index on folding (kind, priority, run_at, id) where fold(5);
create domain folded as text check (fold(6));
create index on folding (dead_at) where (unique_key::folded) is not null;
create index on folding (unique_key) where (unique_key::folded) is not null;
create index on folding (kind, priority, run_at, id) where (kind::folded) is not null;
truncate ran_as;
reset role;
\c -
do $$ begin perform queue_health(); end $$;
\c -
do $$ begin perform queue_health('folding'); end $$;
\c -
do $$ begin perform queue_alter('folding', kinds => true); end $$;
\c -
do $$ begin perform queue_adopt('folding'); exception when others then raise notice '%', sqlerrm; end $$;
select distinct who from ran_as;
do $$ begin perform queue_drop('folding'); end $$;
drop table ran_as;
drop domain folded;
drop function fold, note;
revoke create on schema public from predicate_owner;
drop role predicate_owner;
