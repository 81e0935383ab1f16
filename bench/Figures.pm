package Figures;

# The samples that bench/measure took, and the figures that are computed of them.

use strict;
use warnings;

use Scalar::Util qw(looks_like_number);

sub rows {
	my $file = shift;
	open my $in, '<:encoding(UTF-8)', $file or return;
	return map { chomp; [split /\t/] } <$in>;
}

sub median {
	my @sorted = sort { $a <=> $b } @_;
	my $middle = int(@sorted / 2);
	return @sorted % 2 ? $sorted[$middle] : ($sorted[$middle - 1] + $sorted[$middle]) / 2;
}

# 1234567.8 is 1,234,568; a number below 100 keeps a digit if it is not whole, and a word stays as it is.
sub grouped {
	my $number = shift;
	return $number unless looks_like_number($number);
	my $text = $number < 100 && $number != int $number ? sprintf '%.1f', $number : sprintf '%.0f', $number;
	1 while $text =~ s/^(-?\d+)(\d{3})/$1,$2/;
	return $text;
}

sub read {
	my ($class, $dir) = @_;
	my $self = bless { sections => [], situation => {}, order => {}, value => {}, title => {} }, $class;
	$self->{title}{$_->[0]} = $_->[1] for rows("$dir/sides.tsv");
	$self->{side_order} = { map { $_->[1][0] => $_->[0] } indexed(rows("$dir/sides.tsv")) };
	for (rows("$dir/situations.tsv")) {
		my ($name, $title, $over, $unit, $base, $lower, $shown) = @$_;
		$self->{situation}{$name} = { name => $name, title => $title, over => $over, unit => $unit, base => $base,
			lower => $lower, shown => { map { $_ => 1 } split ' ', $shown // '' } };
	}
	for (rows("$dir/samples.tsv")) {
		my ($section, $situation, $point, $side, $round, $metric, $value) = @$_;
		push @{$self->{sections}}, $section unless grep { $_ eq $section } @{$self->{sections}};
		my $order = $self->{order}{$section} //= [];
		push @$order, $situation unless grep { $_ eq $situation } @$order;
		my $points = $self->{point_order}{$section}{$situation} //= {};
		$points->{$point} //= keys %$points;
		# Values that are measured in parts, as heap and index, are added up.
		$self->{value}{$section}{$situation}{$point}{$side}{$round} += $value;
	}
	return $self;
}

sub indexed {
	my $i = 0;
	return map { [$i++, $_] } @_;
}

sub sections { return @{$_[0]{sections}} }

sub title { return $_[0]{title}{$_[1]} // $_[1] }

sub situations {
	my ($self, $section) = @_;
	return map { $self->{situation}{$_} } @{$self->{order}{$section} // []};
}

# Numbers in their order, words as they came.
sub points {
	my ($self, $section, $situation) = @_;
	my $order = $self->{point_order}{$section}{$situation};
	my @points = sort { $order->{$a} <=> $order->{$b} } keys %$order;
	return (grep { !looks_like_number($_) } @points) ? @points : sort { $a <=> $b } @points;
}

sub sides {
	my ($self, $section, $situation) = @_;
	my %seen = map { $_ => 1 } map { keys %$_ } values %{$self->{value}{$section}{$situation}};
	return sort { $self->{side_order}{$a} <=> $self->{side_order}{$b} } keys %seen;
}

sub values {
	my ($self, $section, $situation, $point, $side) = @_;
	return unless $self->{value}{$section}{$situation}{$point};
	return CORE::values %{$self->{value}{$section}{$situation}{$point}{$side} // {}};
}

# How many rounds any side has at that point.
sub rounds {
	my ($self, $section, $situation, $point) = @_;
	my ($most) = sort { $b <=> $a }
		map { scalar keys %$_ } CORE::values %{$self->{value}{$section}{$situation}{$point}};
	return $most;
}

# The rounds' ratios of one [point, side] to another.
sub ratios {
	my ($self, $section, $situation, $of, $to) = @_;
	my $points = $self->{value}{$section}{$situation} or return;
	my ($dividends, $divisors) = map { ($points->{$_->[0]} // {})->{$_->[1]} // {} } $of, $to;
	return map { $dividends->{$_} / $divisors->{$_} } grep { $divisors->{$_} } sort keys %$dividends;
}

# Their median; undef if there is none.
sub ratio {
	my @ratios = ratios(@_);
	return @ratios ? median(@ratios) : undef;
}

1;
