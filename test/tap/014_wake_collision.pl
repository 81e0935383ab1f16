# A job that is sent to one of many queues is no reason for another to look at its table. In a server
# of its own: tables keep their cells in shared memory until the server stops, and where thousands
# have been there are none left for each.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('wake_collision');
$node->init;
$node->append_conf('postgresql.conf', "queue_ext.claim_path = direct\nclient_min_messages = error\n");
$node->start;
$node->safe_psql(
	'postgres', q{
create extension queue_ext;

-- Some that are asked, as many that are sent to, and many attached ones.
create procedure set_up() language plpgsql as $$
begin
	for n in 1 .. 60 loop
		perform queue_create('asked_' || n), queue_create('sent_' || n);
		commit;
	end loop;
	for n in 1 .. 200 loop
		execute format('create table own_%s (id integer generated always as identity primary key, done boolean not null default false)', n);
		perform queue_attach('own_' || n, ('own_' || n)::regclass, 'not done', 'id', 'done = true', wake => true);
		commit;
	end loop;
end $$;

create function pop(low integer, high integer, out jobs bigint) language sql volatile
return (select count(*) from generate_series(low, high) as n, queue_pop('asked_' || n));

-- To twenty of them.
create procedure send(part integer) language plpgsql as $$
begin
	for n in 1 + 20 * (part - 1) .. 20 * part loop
		if n <= 60 then
			perform queue_send('sent_' || n, '1');
		else
			execute format('insert into own_%s default values', n - 60);
		end if;
	end loop;
end $$;

-- How many of those asked have looked again. The clock makes them, too, so not at once.
create procedure ask(inout looked bigint) language plpgsql as $$
declare
	swept bigint;
begin
	looked := 0;
	for low in 1 .. 60 by 10 loop
		for part in 1 .. 13 loop
			for try in 1 .. 50 loop
				perform pop(low, low + 9);
				perform queue_claim_stats_reset();
				commit;
				call send(part);
				commit;
				perform pop(low, low + 9);
				select sum(sweeps) into swept from queue_claim_stats
				where source in (select ('asked_' || n)::regclass from generate_series(low, low + 9) as n);
				exit when swept = 0;
			end loop;
			looked := looked + swept;
		end loop;
	end loop;
end $$;
});

$node->safe_psql('postgres', 'call set_up()');
my @looked = split /\n/, $node->safe_psql(
	'postgres', q{
	-- Each has been asked once.
	select count(*) from generate_series(1, 60) as n, queue_pop('sent_' || n);
	select pop(1, 60);
	call ask(null);
	select count(*) > 0 as sent, count(*) = count(distinct n) as each
	from generate_series(1, 60) as n, queue_pop('sent_' || n);
});
is($looked[2], 0, 'what is sent to others makes no queue look');
is($looked[3], 't|t', 'and what is sent is found');
$node->stop;
done_testing();
