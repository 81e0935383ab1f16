package Targets;

# The ratios that queue_ext promises to reach, from the samples of one run.

use strict;
use warnings;
use utf8;

my @peers = qw(pgq graphile-worker pg-boss);

sub table {
	my $figures = shift;
	my @lines;
	for my $section ($figures->sections) {
		push @lines, map { [$section, @$_] } of_section($figures, $section);
	}
	return '' unless @lines;
	my $text = "# Targets\n\nThe median of the rounds [lowest, highest]. Where the target lies between "
		. "those two, the run does not say whether it is met.\n\n"
		. "| measure | synchronous_commit | side | target | is | |\n|---|---|---|---:|---:|---|\n";
	for (@lines) {
		my ($section, $measure, $side, $target, $at_most, @values) = @$_;
		$text .= sprintf "| %s | %s | %s | %s %s | %s | %s |\n", $measure, $section, $figures->title($side),
			$at_most ? '≤' : '≥', $target, range(@values), verdict($target, $at_most, @values);
	}
	return $text;
}

sub range {
	my @shown = map { sprintf $_ >= 100 ? '%.0f' : '%.2f', $_ } Figures::median(@_), (sort { $a <=> $b } @_)[0, -1];
	return @_ > 1 ? "$shown[0] [$shown[1], $shown[2]]" : $shown[0];
}

sub verdict {
	my ($target, $at_most, @values) = @_;
	my $met = grep { $at_most ? $_ <= $target : $_ >= $target } @values;
	return $met == @values ? 'met' : $met ? 'unclear' : '**missed**';
}

# The variants of a side, as queue_ext-update@direct, that a situation has.
sub variants {
	my ($figures, $section, $situation, $side) = @_;
	return grep { /^\Q$side\E(?:@|$)/ } $figures->sides($section, $situation);
}

sub of_section {
	my ($figures, $section) = @_;
	my @found;
	my $add = sub {
		my ($measure, $side, $target, $at_most, @values) = @_;
		push @found, [$measure, $side, $target, $at_most, @values] if @values;
	};
	my $ratios = sub { $figures->ratios($section, @_) };

	my @clients = $figures->points($section, 'claim');
	for my $side (variants($figures, $section, 'claim', 'queue_ext-update')) {
		$add->("claim, $_ clients, to the floor", $side, '1.0', 0, $ratios->('claim', [$_, $side], [$_, 'floor'])) for @clients;
		my %least = (8 => 4, 32 => 8);
		$add->("claim, $_ clients, to SKIP LOCKED", $side, $least{$_}, 0, $ratios->('claim', [$_, $side], [$_, 'skip-locked']))
			for grep { $least{$_} } @clients;
		$add->('claim, 64 clients to 8', $side, '0.9', 0, $ratios->('claim', [64, $side], [8, $side]));
	}
	for my $side (variants($figures, $section, 'claim', 'queue_ext-session')) {
		$add->('claim, 1 client, to select 1', $side, '0.6', 0, $ratios->('claim', [1, $side], [1, 'select-1']));
	}
	for my $situation (qw(dead leased locked)) {
		for my $side (variants($figures, $section, $situation, 'queue_ext-update')) {
			$add->("claim, $_ $situation in front, to none", $side, '0.9', 0, $ratios->($situation, [$_, $side], [0, $side]))
				for grep { $_ } $figures->points($section, $situation);
		}
	}
	for my $side (variants($figures, $section, 'several', 'queue_ext-update')) {
		$add->("claim of any of three queues, by $_, to one", $side, '0.9', 0, $ratios->('several', [$_, $side], ['one', $side])) for qw(order weights);
	}
	for my $side (variants($figures, $section, 'kinds', 'queue_ext-update')) {
		$add->('claim of a kind, behind another, to alone', $side, '0.7', 0, $ratios->('kinds', ['behind', $side], ['alone', $side]));
		$add->('claim of sixteen kinds, to one', $side, '0.67', 0, $ratios->('kinds', ['of-16', $side], ['of-1', $side]));
	}
	for my $side (variants($figures, $section, 'backlog', 'queue_ext-update')) {
		$add->('claim, backlog of 10M to 1M', $side, '0.9', 0, $ratios->('backlog', [10000000, $side], [1000000, $side]));
	}
	for my $side (variants($figures, $section, 'life', 'queue_ext-update')) {
		$add->('send, claim, complete one by one, to the floor', $side, '1.0', 0, $ratios->('life', [1, $side], [1, 'floor']));
		$add->('batches of 100, to the best batch of a peer', $side, 2, 0, to_best_peer($figures, $section, $side));
	}
	for my $side (variants($figures, $section, 'stats', 'queue_ext-update')) {
		$add->("statistics on, batches of $_, to off", $side, '0.98', 0, $ratios->('stats', [$_, $side], [$_, 'untracked']))
			for $figures->points($section, 'stats');
	}
	for my $side (variants($figures, $section, 'idle', 'queue_ext-update')) {
		$add->("empty pop, $_ clients, to select 1", $side, '0.7', 0, $ratios->('idle', [$_, $side], [$_, 'select-1']))
			for $figures->points($section, 'idle');
	}
	my %lock = (denial => ['throttle, a denial', 'select-1', '0.7'], grant => ['throttle, a grant', 'key-update', '0.9'],
		acquire => ['a lock acquired', 'key-update', '0.9']);
	for my $situation (sort keys %lock) {
		my ($measure, $base, $target) = @{$lock{$situation}};
		$add->("$measure, $_ clients, to " . $figures->title($base) =~ tr/`//dr, 'locks', $target, 0,
			$ratios->($situation, [$_, 'locks'], [$_, $base])) for $figures->points($section, $situation);
	}
	push @found, of_tables($figures, $section), of_events($figures, $section);
	for my $side (variants($figures, $section, 'transaction', 'queue_ext-transaction')) {
		$add->("claim and complete in a transaction, $_ clients, by hand", $side, '1.5', 0,
			$ratios->('transaction', [$_, $side], [$_, 'skip-locked-transaction']))
			for grep { $_ == 8 } $figures->points($section, 'transaction');
	}
	my %bytes = ('queue_ext-update' => 620, 'queue_ext-session' => 500);
	for my $kind (sort keys %bytes) {
		for my $side (variants($figures, $section, 'wal', $kind)) {
			$add->('WAL of a job, bytes', $side, $bytes{$kind}, 1, $figures->values($section, 'wal', 1, $side));
		}
	}
	my @unique = (['unique-new', 'unique insert of a new job', '0.9'], ['unique-duplicate', 'unique insert of a duplicate', '1.0']);
	for (@unique) {
		my ($situation, $measure, $target) = @$_;
		$add->("$measure, $_ clients, to ON CONFLICT", 'unique-insert', $target, 0,
			$ratios->($situation, [$_, 'unique-insert'], [$_, 'on-conflict']))
			for $figures->points($section, $situation);
	}
	$add->("unique insert, batch of $_, to ON CONFLICT", 'unique-insert', '1.0', 0,
		$ratios->('unique-batch', [$_, 'unique-insert'], [$_, 'on-conflict']))
		for grep { $_ == 1000 } $figures->points($section, 'unique-batch');
	return @found;
}

# With most in front, to the same with nothing in front; where the event is an option, to the same without it.
my %least_beside_event = (rollback => '0.8', chain => '0.8', poll => '0.8', due => '0.8', session => '0.67', attached_poll => '0.8', attached_due => '0.8');

sub of_events {
	my ($figures, $section) = @_;
	my @found;
	for my $kind (sort keys %least_beside_event) {
		my $most = ($figures->points($section, "events.$kind"))[-1] or next;
		for my $side (grep { /^event\+/ } $figures->sides($section, "events.$kind")) {
			my @values = $figures->ratios($section, "events.$kind", [$most, $side], [0, $side]);
			push @found, ["events, $kind: " . Figures::grouped($most) . ' in front, to none', $side, $least_beside_event{$kind}, 0, @values] if @values;
		}
	}
	for my $point ($figures->points($section, 'events.wake')) {
		for my $side (grep { /^event\+/ } $figures->sides($section, 'events.wake')) {
			my @values = $figures->ratios($section, 'events.wake', [$point, $side], [$point, $side =~ s/^event/calm/r]);
			push @found, ['events, wake: ' . Figures::grouped($point) . ' in front, to none of the workers told', $side, '0.9', 0, @values] if @values;
		}
	}
	return @found;
}

# What a claim by hand is on a project's table: that project's own fetch.
my %to_own_fetch = (procrastinate => 2, 'pg-boss' => 1.3, 'graphile-worker' => 1.3, 'solid-queue' => 1.3);

sub of_tables {
	my ($figures, $section) = @_;
	my @found;
	for my $situation (grep { /^tables\./ } map { $_->{name} } $figures->situations($section)) {
		my $kind = $situation =~ s/^tables\.//r;
		my $add = sub {
			my ($measure, $side, $target, $to) = @_;
			my @values = $figures->ratios($section, $situation, [8, $side], [8, $to]);
			push @found, ["$kind: $measure", $side, $target, 0, @values] if @values;
		};
		for my $fresh (variants($figures, $section, $situation, 'table-pop+fresh')) {
			$add->('a claim, 8 clients, to the UPDATE by key', $fresh, '0.8', 'table-key+fresh');
			$add->("a claim, 8 clients, to its own fetch", $fresh, $to_own_fetch{$kind}, 'table-skip-locked+fresh')
				if $to_own_fetch{$kind};
			$add->("a claim, 8 clients, $_ in front, to none", $fresh =~ s/fresh/$_/r, '0.9', $fresh) for qw(dead leased locked);
		}
		next unless $kind eq 'procrastinate';
		$add->('a claim, 8 clients, under a held snapshot, to its own fetch', $_, 10, 'table-skip-locked+held')
			for variants($figures, $section, $situation, 'table-pop+held');
	}
	return @found;
}

# Against a peer's best batch size, whichever that is.
sub to_best_peer {
	my ($figures, $section, $side) = @_;
	my ($most, $best) = (0);
	for my $point (grep { $_ > 1 } $figures->points($section, 'life')) {
		for my $peer (@peers) {
			my @values = $figures->values($section, 'life', $point, $peer) or next;
			($most, $best) = (Figures::median(@values), [$point, $peer]) if Figures::median(@values) > $most;
		}
	}
	return $best ? $figures->ratios($section, 'life', [100, $side], $best) : ();
}

1;
