# Text is hashed as its UTF-8 bytes, so databases of different encodings agree
# on every hash and lock key. SQL_ASCII, which has no characters, hashes the
# bytes as they are.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('encoding');
$node->init(extra => [ '--locale=C', '--encoding=UTF8' ]);
$node->start;

my @encodings = ('UTF8', 'LATIN1', 'EUC_JP', 'SQL_ASCII');
for my $encoding (@encodings)
{
	my $database = lc $encoding;
	$node->safe_psql('postgres',
		"create database $database template template0 encoding '$encoding' locale 'C'");
	$node->safe_psql($database, 'create extension queue_ext');
	is($node->safe_psql($database, 'show server_encoding'),
		$encoding, "a database in $encoding");
}

my $all_hashes =
  'fnv1_32(key), fnv1a_32(key), fnv1_64(key), fnv1a_64(key), '
  . 'fnv_lock_key(key), fnv_lock_key(key, 7), fnv_lock_key(key, -1)';

# The query for all hashes of an SQL expression.
sub hashes
{
	my ($expression) = @_;
	return "select $all_hashes from (select $expression as key) as input";
}

# A server may hold the same characters in other bytes; to show that it does,
# each word comes with its bytes in each encoding that has the characters. The
# hashes are those that Go's hash/fnv computes for the UTF-8 bytes.
my @words = (
	{
		name => 'ASCII',
		utf8 => '6b6579',
		stored => { UTF8 => '6b6579', LATIN1 => '6b6579', EUC_JP => '6b6579', SQL_ASCII => '6b6579' },
		hashes => '1183067778|1746258028|-2829723911081243614|4452171178779021548|-2829723911081243614|31247838850|-3111899518',
	},
	{
		name => 'German',
		utf8 => '6772c3bc6e',
		stored => { UTF8 => '6772c3bc6e', LATIN1 => '6772fc6e', EUC_JP => '67728fabe46e' },
		hashes => '-1245371233|1616422199|3997945864705322783|143103807709133623|3997945864705322783|33114367135|-1245371233',
	},
	{
		name => 'Japanese',
		utf8 => 'e697a5e69cace8aa9e',
		stored => { UTF8 => 'e697a5e69cace8aa9e', EUC_JP => 'c6fccbdcb8ec' },
		hashes => '-847858957|-2141233945|6754750132552792403|-1252314375984451705|6754750132552792403|33511879411|-847858957',
	},
	{
		name => 'long German',
		utf8 => 'c3bc' x 5000,
		stored => { UTF8 => 'c3bc' x 5000, LATIN1 => 'fc' x 5000 },
		hashes => '-121531099|1751601157|1160579996384642181|4914599916260537701|1160579996384642181|34238207269|-121531099',
	},
	{
		name => 'empty',
		utf8 => '',
		stored => { UTF8 => '', LATIN1 => '', EUC_JP => '', SQL_ASCII => '' },
		hashes => '-2128831035|-2128831035|-3750763034362895579|-3750763034362895579|-3750763034362895579|32230907333|-2128831035',
	});

for my $word (@words)
{
	for my $encoding (sort keys %{ $word->{stored} })
	{
		my $database = lc $encoding;
		my $what = "$word->{name} in $encoding";
		my $literal = "'" . pack('H*', $word->{utf8}) . "'";
		my $stored = "convert_from('\\x$word->{stored}{$encoding}', '$encoding')";
		my $utf8 = "convert_from('\\x$word->{utf8}', 'UTF8')";

		my %query = (
			'a literal of a UTF-8 client' => "set client_encoding = UTF8; " . hashes($literal),
			'made from the stored bytes' => hashes($stored),
			'read from a table' => "create temporary table input as select $stored as key; "
			  . "select $all_hashes from input");
		$query{'made from UTF-8'} = hashes($utf8) if $encoding ne 'SQL_ASCII';

		for my $form (sort keys %query)
		{
			is($node->safe_psql($database, $query{$form}), $word->{hashes}, "$what: $form");
		}

		# The database holds those bytes; if not, the agreement would prove little.
		is( $node->safe_psql(
				$database, "select octet_length($stored)"),
			length($word->{stored}{$encoding}) / 2,
			"$what: octets stored");
	}
}

# bytea has no encoding: the bytes count in every database.
for my $encoding (@encodings)
{
	is( $node->safe_psql(lc $encoding, q{select fnv1_64('\xfc'::bytea), fnv1a_32('\xfc'::bytea)}),
		'-5808590958014384349|2030796987',
		"bytea in $encoding");
}

# SQL_ASCII: bytes that are no UTF-8 are hashed, not rejected, and equal the
# hash of the same bytes as bytea; bytes that are UTF-8 hash as elsewhere.
for my $bytes ('fc', '6772fc6e', 'c6fccbdcb8ec', '6772c3bc6e')
{
	my $text = "convert_from('\\x$bytes', 'SQL_ASCII')";
	is( $node->safe_psql(
			'sql_ascii',
			"select fnv1_32(t) = fnv1_32(b) and fnv1a_32(t) = fnv1a_32(b) and fnv1_64(t) = fnv1_64(b) "
			  . "and fnv1a_64(t) = fnv1a_64(b) and fnv_lock_key(t) = fnv1_64(b) "
			  . "from (select $text as t, '\\x$bytes'::bytea as b) as input"),
		't',
		"SQL_ASCII hashes the raw bytes $bytes");
}
is($node->safe_psql('sql_ascii', hashes("convert_from('\\x6772fc6e', 'SQL_ASCII')")),
	'-1190578504|-1575618614|-288853254337010824|-479189766392378198|-288853254337010824|33169159864|-1190578504', 'SQL_ASCII: the bytes of LATIN1 hash as such');
is($node->safe_psql('sql_ascii', hashes("convert_from('\\x6772c3bc6e', 'SQL_ASCII')")),
	'-1245371233|1616422199|3997945864705322783|143103807709133623|3997945864705322783|33114367135|-1245371233', 'SQL_ASCII: the bytes of UTF-8 hash as text elsewhere');

$node->stop;
done_testing();
