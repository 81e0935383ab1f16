-- Who drops or detaches a dead queue is told whose it was.
create schema test_dead_end;
create schema "Dead end";
set search_path = test_dead_end, public;
select queue_create('letters'), queue_create('other');
select queue_create(name, dead_queue => 'letters') from unnest('{c,a,"\"Dead end\".b",gone}'::text[]) as name;
drop table gone;
select queue_drop('other');
select queue_detach('letters');
select queue_adopt('letters');
select queue_alter('c', dead_queue => '');
select queue_drop('letters');

-- One of that name is another one; so is a queue of that table that is not managed.
select queue_create('letters');
select queue_drop('letters');
select queue_create('letters'), queue_alter('a', dead_queue => 'letters');
select queue_attach('by_id', 'letters', pending => 'attempt = 0', order_by => 'priority, run_at, id', on_claim => 'attempt = 1');
select queue_detach('by_id');
drop table letters;

set client_min_messages = warning;
drop schema test_dead_end, "Dead end" cascade;
