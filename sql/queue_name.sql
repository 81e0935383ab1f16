-- The names of queues: SQL names, found as tables are.
set client_min_messages = warning;
create schema test_name;
create schema "Test Name";
set search_path = test_name, public;

-- Folded unless quoted; spaces around the parts; any character in quotes.
select queue_create('Emails');
select queue_create(' test_name . " e.mails " ');
select queue_create('"Odd Queue"');
select queue_create('"Test Name"."Odd ""Queue"" 100%s $1"');
select queue_create('"select"');
select queue from queues where queue like 'test\_name.%' or queue like '"Test Name"%' order by queue collate "C";
select queue_send('EMAILS', '1'), queue_send('test_name.emails', '2'), queue_send('"emails"', '3');
select queue_send('"Odd Queue"', '4'), queue_send('test_name."Odd Queue"', '5');
select queue_send('"Test Name"."Odd ""Queue"" 100%s $1"', '6');
select id, payload from queue_pop('"Test Name"."Odd ""Queue"" 100%s $1"');
select queue_complete('"Test Name"."Odd ""Queue"" 100%s $1"', 1, 1);
select queue_alter('"Test Name"."Odd ""Queue"" 100%s $1"', archive => true, max_attempts => 7);
select queue_send('"Test Name"."Odd ""Queue"" 100%s $1"', '7');
select id, payload from queue_pop('"Test Name"."Odd ""Queue"" 100%s $1"');
select queue_complete('"Test Name"."Odd ""Queue"" 100%s $1"', 2, 1);
select id, payload, max_attempts from "Test Name"."Odd ""Queue"" 100%s $1_archive";
select queue_drop('"Test Name"."Odd ""Queue"" 100%s $1"');

-- 63 bytes fit, and 55 where there is an archive.
select length(queue_create(repeat('n', 63))::text);
select queue_send(repeat('n', 63), '1');
select length(queue_create(repeat('a', 55), archive => true)::text);
\set VERBOSITY sqlstate
select queue_create(repeat('n', 64));
select queue_create('"' || repeat('n', 64) || '"');
select queue_send(repeat('n', 64), '1');
select queue_send(repeat('s', 64) || '.jobs', '1');
select queue_send(repeat('n', 1000), '1');
select queue_create(repeat('a', 56), archive => true);
select queue_alter(repeat('n', 63), archive => true);
select to_regclass(repeat('a', 56)) as left_behind;
-- The message, which is in the server's log, too, has the beginning of a long text.
\set VERBOSITY terse
select queue_create(repeat('n', 10000));
select queue_send('"' || repeat('s', 10000) || '".jobs', '1');
select queue_create(repeat('n ', 5000));
select queue_create(repeat('n', 128));
-- The longest name of a table is whole: two identifiers of 63 quotes, each of which is doubled.
select queue_create(format('%1$I.%1$I.more', repeat('"', 63)));
\set VERBOSITY sqlstate

-- What is no name.
select queue_create('');
select queue_create('  ');
select queue_create('""');
select queue_create('.jobs');
select queue_create('test_name.');
select queue_create('a.b.c');
select queue_create('a b');
select queue_create('"a');
select queue_create('"a"b');
select queue_create('a"b"');
select queue_pop('');
select queue_pop('a..b');

-- What is none of ours.
select queue_pop('odd queue');
select queue_pop('"EMAILS"');
select queue_pop('no_such_schema.emails');
select queue_pop('public.emails');
create table plain (id bigint);
select queue_pop('plain');

drop schema test_name, "Test Name" cascade;
