package Slip;

# A slip is a deliberate bug that a test must catch: test/mutants/NAME.slip. It says what it changes
# by name, so that code may move, be formatted anew and get other neighbours:
#
#   Raising the wake-up generation wakes no waiter. Fails: isolation wait-trigger.
#   in src/ring/shared_memory.cpp, wake_table
#   - if (pg_atomic_read_u32(&wakes->waiting) > 0)
#   + if (false)
#
# The first line names the fault, and the test. Each "in FILE, NAME" is followed by edits: lines
# with "-" are what stands there, lines with "+" what stands there then; a second edit begins with its
# "-". NAME is a function, struct or enum of C++, a function or other object that SQL creates, a
# function of the shell, a sub of Perl; without it the whole file is meant.
#
# FILE is a hint. Where it has no NAME (or is not there), NAME is looked for in all files of that kind,
# first below the same directory of the root. What stands there is compared without white space,
# and without comments (but as it is within the strings of C), and must be there once; "2nd of 3" above
# the "-" is for what stands there three times.

use strict;
use warnings;

use File::Basename qw(basename);
use File::Find qw(find);

my %languages = (
	c => qr/\.(?:[ch]pp|[ch]|m?js)$/,
	sql => qr/\.sql$/,
	script => qr/(?:\.sh|\.p[lm]|(?:^|\/)[^.\/]+)$/,
);

# Balanced parentheses and braces of C.
my $grammar = qr/(?(DEFINE)
	(?<quoted>"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+')
	(?<parens>\((?:[^()"']++|(?&quoted)|(?&parens))*+\))
	(?<braces>\{(?:[^{}"']++|(?&quoted)|(?&braces))*+\})
)/x;

sub slurp
{
	my ($file) = @_;
	open my $in, '<', $file or die "$file: $!\n";
	local $/ = undef;
	return scalar <$in>;
}

sub language_of
{
	my ($file) = @_;
	my ($language) = grep { $file =~ $languages{$_} } sort keys %languages;
	return $language // 'other';
}

# All slips of a checkout, by name.
sub names
{
	my ($root) = @_;
	return map { basename($_, '.slip') } sort(glob("$root/test/mutants/*.slip"));
}

# Reads a slip; dies with one line if it is none.
sub load
{
	my ($root, $name) = @_;
	my $path = "$root/test/mutants/$name.slip";
	die "$name: there is no such slip\n" unless -f $path;
	my ($what, @lines) = split /\n/, slurp($path);
	my $slip = { name => $name, what => $what // '', edits => [] };
	my ($place, $edit, $nth);
	for my $line (@lines)
	{
		if ($line =~ /^in (\S+?)(?:, (\S+))?$/)
		{
			$place = { file => $1, in => $2 };
			undef $edit;
		}
		elsif ($place && $line =~ /^(\d+)(?:st|nd|rd|th) of (\d+)$/) { $nth = [ $1, $2 ] }
		elsif ($place && $line =~ /^-(?: (.*))?$/)
		{
			if (!$edit || defined $edit->{after} || $nth)
			{
				$edit = { %$place, nth => $nth, before => '' };
				push @{ $slip->{edits} }, $edit;
				undef $nth;
			}
			$edit->{before} .= ($1 // '') . "\n";
		}
		elsif ($line =~ /^\+(?: (.*))?$/ && $edit) { $edit->{after} .= ($1 // '') . "\n" }
		elsif ($line eq '') { undef $edit }
		else { die "$name: what is this line? $line\n" }
	}
	die "$name: changes nothing\n" unless @{ $slip->{edits} };
	@$slip{qw(suite test)} = $slip->{what} =~ /\S\. Fails: ([a-z]+) (\S+)\.$/
	  or die "$name: does not begin with \"What is wrong. Fails: SUITE TEST.\"\n";
	return $slip;
}

# The text with comments as blanks, of the same length.
sub without_comments
{
	my ($text, $language) = @_;
	my $blank = sub { $_[0] =~ s/[^\n]/ /gr };
	if ($language eq 'c')
	{
		$text =~ s{("(?:[^"\\\n]|\\.)*+"|(?<!\w)'(?:[^'\\\n]|\\.)*+')|(//[^\n]*|/\*.*?\*/)}{$1 // $blank->($2)}gse;
		$text =~ s/(?<=\d)'(?=\d)/_/g;
	}
	elsif ($language eq 'sql')
	{
		$text =~ s{('[^']*+')|(--[^\n]*|/\*.*?\*/)}{$1 // $blank->($2)}gse;
	}
	elsif ($language eq 'script')
	{
		$text =~ s/^([ \t]*#(?!!)[^\n]*)/$blank->($1)/gme;
	}
	return $text;
}

# A file as it is, and without comments, read once.
my %read;

sub source
{
	my ($path) = @_;
	return $read{$path} //= do
	{
		my $text = slurp($path);
		{ text => $text, bare => without_comments($text, language_of($path)) };
	};
}

# Where the declaration begins that is at a place: its type and what stands before that are part of it.
sub begin_of
{
	my ($bare, $at) = @_;
	return 1 + (sort { $a <=> $b } map { rindex($bare, $_, $at - 1) } ";", "{", "}")[-1];
}

# All of a file.
sub whole
{
	my ($path) = @_;
	return [ $path, 0, length source($path)->{text} ];
}

# What defines a name in a file.
sub definitions
{
	my ($path, $name) = @_;
	my $bare = source($path)->{bare};
	return unless index($bare, $name =~ s/.*:://r) >= 0;
	my $language = language_of($path);
	my @found;
	my $collect = sub {
		my ($pattern) = @_;
		while ($bare =~ /$pattern/g) { push @found, [ $path, begin_of($bare, $-[0]), $+[0] ] }
	};
	if ($language eq 'c')
	{
		my $behind = qr/[\s\w]*(?:->[^;{}]*|:[^;{}?]*)?/;    # const, a result's type, initializers
		$collect->(qr/(?<![\w.>~])$name\s*(?&parens)$behind(?&braces)$grammar/);
		$collect->(qr/\b(?:struct|class|union|enum(?:\s+class)?)\s+$name\b[^;{}()]*(?&braces)$grammar/) unless @found;
		$collect->(qr/^\w[^\n;{}()=]*[\s*&]$name\s*(?:\[[^\]]*\]\s*)?(?:=(?:[^;"']++|(?&quoted))*+)?;$grammar/m) unless @found;
	}
	elsif ($language eq 'sql')
	{
		my $object = qr/^create\s+(?:or\s+replace\s+)?(?:\w+\s+){1,2}(?:if\s+not\s+exists\s+)?(?:[\w@]+\.)?$name\b/mi;
		$collect->(qr/$object.*?(?=^create\b|\z)/msi);
	}
	elsif ($language eq 'script')
	{
		$collect->(qr/^([ \t]*)(?:function\s+)?$name\s*()\s*[{(].*?^\1[})]/ms);
		$collect->(qr/^([ \t]*)sub\s+$name\b.*?^\1\}/ms);
	}
	return @found;
}

# The files of a kind below a directory, but for products of a build, and old versions.
my %listed;

sub files_below
{
	my ($root, $below, $language) = @_;
	my $start = $below eq '' ? $root : "$root/$below";
	return () unless -d $start;
	return @{ $listed{"$start $language"} //= do
	{
		my @files;
		find(
			{
				no_chdir => 1,
				preprocess => sub { sort grep { !/^\.|^(?:node_modules|mutants|upgrade|tmp_check)$|^queue_ext--/ } @_ },
				wanted => sub { push @files, $_ if -f && language_of($_) eq $language },
			},
			$start);
		\@files;
	} };
}

# Where an edit may be: files with a beginning and an end, the likeliest that there are.
sub places
{
	my ($root, $edit) = @_;
	my ($file, $name) = @$edit{qw(file in)};
	my $top = $file =~ m{^([^/]+)/} ? $1 : '';
	my $below = sub { files_below($root, $_[0], language_of($file)) };
	my @circles = (sub { -f "$root/$file" ? "$root/$file" : () }, sub { $below->($top) }, sub { $below->('') });
	my $is_like = sub { basename($_[0]) eq basename($file) };
	for my $circle (defined $name ? @circles : map { my $all = $_; sub { grep { $is_like->($_) } $all->() } } @circles)
	{
		my @found = map { defined $name ? definitions($_, $name) : whole($_) } $circle->();
		return @found if @found;
	}
	return defined $name ? () : map { whole($_) } $circles[2]->();
}

# What finds a text whatever its white space is.
sub pattern_of
{
	my ($text, $language) = @_;
	my $token = $language eq "c" ? qr/"(?:[^"\\\n]|\\.)*+"|\w+|[^\s\w]/ : qr/\w+|[^\s\w]/;
	my @tokens = without_comments($text, $language) =~ /$token/g;
	return unless @tokens;
	my $operator = '[-+*\/%<>=!&|^]';
	my $pattern = $tokens[0] =~ /^\w/ ? '(?<!\w)' : $tokens[0] =~ /^$operator/ ? "(?<!$operator)" : '';
	for my $i (0 .. $#tokens)
	{
		$pattern .= $tokens[ $i - 1 ] =~ /^\w/ && $tokens[$i] =~ /^\w/ ? '\s+' : '\s*' if $i > 0;
		$pattern .= quotemeta $tokens[$i];
	}
	$pattern .= $tokens[-1] =~ /^\w/ ? '(?!\w)' : $tokens[-1] =~ /^$operator/ ? "(?!$operator)" : '';
	return qr/$pattern/;
}

# Where a pattern is in some places; a place may contain another.
sub matches
{
	my ($pattern, @places) = @_;
	my %found;
	for (@places)
	{
		my ($path, $begin, $end) = @$_;
		my $part = substr(source($path)->{bare}, $begin, $end - $begin);
		while ($part =~ /$pattern/g)
		{
			$found{ sprintf '%s %09d', $path, $begin + $-[0] } = [ $path, $begin + $-[0], $begin + $+[0] ];
			pos($part) = $-[0] + 1;
		}
	}
	return map { $found{$_} } sort keys %found;
}

# Its lines, indented as the line is that it begins in.
sub indented
{
	my ($text, $ahead) = @_;
	my ($first, @others) = split /\n/, $text;
	return '' unless defined $first;
	$first =~ s/^(\s*)//;
	my $own = $1;
	my ($indent) = substr($ahead, 1 + rindex($ahead, "\n")) =~ /^(\s*)/;
	$indent =~ s/\Q$own\E\z//;
	return join "\n", $first, map { $_ eq '' ? '' : "$indent$_" } @others;
}

# What the slip makes of files: their names, below the root, and new texts. Dies with one line that names
# the text that is not there, or is there more than once.
sub changes
{
	my ($root, $slip) = @_;
	my %edits;
	for my $edit (@{ $slip->{edits} })
	{
		my ($file, $name) = @$edit{qw(file in)};
		my $where = defined $name ? "$name of $file" : $file;
		my $pattern = pattern_of($edit->{before}, language_of($file))
		  or die "$slip->{name}: an edit of $where has nothing that stands there\n";
		my ($before, $after) = map { without_comments($_ // '', language_of($file)) =~ s/\s+//gr } @$edit{qw(before after)};
		die "$slip->{name}: an edit of $where changes nothing\n" if $before eq $after;
		my $shown = $edit->{before} =~ s/\s+/ /gr =~ s/^ | $//gr;
		my @places = places($root, $edit) or die "$slip->{name}: there is no $where, nor elsewhere\n";
		my @found = matches($pattern, @places);
		my ($nth, $of) = @{ $edit->{nth} // [ 1, 1 ] };
		if (@found != $of)
		{
			my @elsewhere = @found ? () : map { $_->[0] =~ s{^\Q$root\E/}{}r }
			  matches($pattern, map { whole($_) } files_below($root, '', language_of($file)));
			die "$slip->{name}: \"$shown\" is " . (@found ? scalar @found . ' times' : 'not')
			  . ($of > 1 ? ", not $of times," : '') . " in $where"
			  . (@elsewhere && @elsewhere < 4 ? ', but in ' . join(', ', @elsewhere) : '') . "\n";
		}
		my ($path, $begin, $end) = @{ $found[ $nth - 1 ] };
		my $text = source($path)->{text};
		push @{ $edits{$path} }, [ $begin, $end, indented($edit->{after} // '', substr($text, 0, $begin)) ];
	}
	my %changed;
	for my $path (keys %edits)
	{
		my $text = source($path)->{text};
		my $next = length $text;
		for my $edit (sort { $b->[0] <=> $a->[0] } @{ $edits{$path} })
		{
			my ($begin, $end, $after) = @$edit;
			die "$slip->{name}: two of its edits meet\n" if $end > $next;
			substr($text, $begin, $end - $begin) = $after;
			$next = $begin;
		}
		$changed{ $path =~ s{^\Q$root\E/}{}r } = $text;
	}
	return %changed;
}

1;
