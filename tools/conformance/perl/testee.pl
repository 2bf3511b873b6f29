#!/usr/bin/perl
# A decoder of logs in Perl as a testee, of core modules only. It was written from
# docs/guide/conform.md and the pages of the formats, as the example of a stranger's decoder.
use strict;
use warnings;
use Compress::Raw::Zlib qw(crc32);
use IO::Compress::Gzip qw(gzip);
use IO::Uncompress::Gunzip qw(gunzip);
use JSON::PP;
use MIME::Base64;

my @kinds = qw(log control_records committed_records encode
    offset_index time_index transaction_index producer_snapshot);
my %codecs = (none => 0, gzip => 1, snappy => 2, lz4 => 3, zstd => 4);
my @snapshot = qw(producer_id producer_epoch last_sequence last_offset offset_delta timestamp
    coordinator_epoch current_txn_first_offset);
my $most = 64 << 20;    # bytes after decompression

my @table = map {
    my $value = $_;
    $value = $value >> 1 ^ ($value & 1 ? 0x82F63B78 : 0) for 1 .. 8;
    $value;
} 0 .. 255;

sub crc32c {
    my $check = 0xFFFFFFFF;
    $check = $check >> 8 ^ $table[($check ^ $_) & 255] for unpack 'C*', $_[0];
    return $check ^ 0xFFFFFFFF;
}

sub sum { use integer; return $_[0] + $_[1] }    # of 64 bits, which may overflow as in Java

sub shown { return defined $_[0] ? encode_base64($_[0], '') : undef }

# -- bytes: a reader is an array of the data and the place in it ---------------------------------

sub take {
    my ($reader, $size) = @_;
    die "a size is negative or too large\n" if $size < 0 || $size > length($reader->[0]) - $reader->[1];
    $reader->[1] += $size;
    return substr $reader->[0], $reader->[1] - $size, $size;
}

sub number { return unpack $_[1], take($_[0], length pack $_[1], 0) }

sub more { return $_[0][1] < length $_[0][0] }

sub varint {
    my ($reader, $bits) = @_;
    my $value = 0;
    for (my $shift = 0; $shift < $bits; $shift += 7) {
        my $byte = ord take($reader, 1);
        $value |= ($byte & 127) << $shift;
        next if $byte > 127;
        $value &= 0xFFFFFFFF if $bits == 32;
        return unpack 'q', pack 'Q', ($value >> 1) ^ -($value & 1);
    }
    die "a varint is too long\n";
}

sub nullable { my ($reader, $size) = @_; return $size < 0 ? undef : take($reader, $size) }

sub inflated {
    my ($data, $codec, $given) = @_;
    return decode_base64($given) if defined $given;
    return $data if $codec == 0;
    die "cannot decompress codec $codec\n" if $codec != 1;
    my $stream = IO::Uncompress::Gunzip->new(\$data, MultiStream => 1, Strict => 1, Transparent => 0) or die "no gzip\n";
    my ($whole, $part) = ('', '');
    while ((my $size = $stream->read($part, 1 << 16)) > 0) {
        $whole .= $part;
        die "it decompresses to too much\n" if length $whole > $most;
    }
    die "gzip is damaged\n" if $stream->error || !$stream->eof;
    return $whole;
}

# -- logs: each is a list of entries ------------------------------------------------------------

sub entries {
    my ($data, $given, $depth) = @_;
    my ($log, @found) = [$data, 0];
    while (more($log)) {
        last if $depth && length($data) - $log->[1] < 12;    # Kafka stops at the end of the stream
        my ($offset, $size) = (number($log, 'q>'), number($log, 'l>'));
        my $body = take($log, $size);
        die "an entry is too small\n" if $size < 14;
        my ($magic, $payload) = (ord(substr $body, 4, 1), shift @{ $given || [] });
        die "magic $magic\n" if $magic > 2;
        push @found, $magic == 2 ? batch($offset, $body, $payload)
            : { records => [message($offset, $body, $payload, $depth || 0)], producer => -1, flags => 0 };
    }
    return @found;
}

sub message {
    my ($offset, $body, $payload, $depth) = @_;
    my ($crc, $magic, $flags) = unpack 'NCC', $body;
    die "the checksum is wrong\n" if crc32(substr $body, 4) != $crc;
    my $reader = [$body, 6];
    my $time = $magic ? number($reader, 'q>') : -1;
    my ($key, $value) = map { nullable($reader, number($reader, 'l>')) } 1, 2;
    # Bytes that follow in a message are unused: Kafka does not look at them.
    my $codec = $flags & 7;
    return { offset => $offset, timestamp => $time, key => $key, value => $value } if !$codec;
    die "a message in a wrapper is compressed\n" if $depth;
    die "a wrapper has no value\n" if !defined $value;
    my @inner = map { @{ $_->{records} } } entries(inflated($value, $codec, $payload), undef, 1);
    die "a wrapper is empty\n" if !@inner;
    my $base = $magic ? $offset - $inner[-1]{offset} : 0;
    $_->{offset} += $base for @inner;
    if ($magic && $flags & 8) { $_->{timestamp} = $time for @inner }
    return @inner;
}

sub batch {
    my ($base, $body, $given) = @_;
    die "a batch is too small\n" if length $body < 49;
    my ($epoch, $magic, $crc, $flags, $delta, $first, $last, $producer, $own, $sequence, $count)
        = unpack 'l>CNnl>q>q>q>s>l>l>', $body;
    die "the checksum is wrong\n" if crc32c(substr $body, 9) != $crc;
    die "the number of records is negative\n" if $count < 0;
    my ($payload, @found) = [$count ? inflated(substr($body, 49), $flags & 7, $given) : '', 0];
    for (1 .. $count) {
        my $record = [take($payload, varint($payload, 32)), 0];
        take($record, 1);
        my $time = sum($first, varint($record, 64));
        my $offset = sum($base, varint($record, 32));
        my ($key, $value) = map { nullable($record, varint($record, 32)) } 1, 2;
        my ($pairs, @headers) = varint($record, 32);
        die "a number of headers is wrong\n" if $pairs < 0 || $pairs > length $record->[0];
        for (1 .. $pairs) {
            my $name = take($record, varint($record, 32));
            push @headers, [$name, nullable($record, varint($record, 32))];
        }
        die "something follows a record\n" if more($record);
        push @found, { offset => $offset, timestamp => $flags & 8 ? $last : $time,
            key => $key, value => $value, headers => \@headers };
    }
    die "something follows the records\n" if $count && more($payload);
    return { records => \@found, producer => $producer, flags => $flags };
}

sub as_json {
    my ($record) = @_;
    return { offset => $record->{offset}, timestamp => $record->{timestamp},
        key => shown($record->{key}), value => shown($record->{value}),
        headers => [map { [shown($_->[0]), shown($_->[1])] } @{ $record->{headers} || [] }] };
}

sub control {
    my ($record) = @_;
    my ($version, $type) = unpack 's>s>', $record->{key};
    my %found = (offset => $record->{offset}, type => $type);
    $found{coordinator_epoch} = unpack 'x2l>', $record->{value} if $type == 0 || $type == 1;
    return \%found;
}

sub committed {
    my (%open, @found, $end);
    for my $batch (@_) {
        my @records = @{ $batch->{records} };
        if ($batch->{flags} & 32) {
            my $type = @records ? control($records[0])->{type} : -1;
            next if $type != 0 && $type != 1;
            my $ended = delete $open{ $batch->{producer} };
            push @found, @{ $ended || [] } if $type == 1;
        }
        elsif ($batch->{flags} & 16) { push @{ $open{ $batch->{producer} } }, @records }
        else { push @found, @records }
    }
    for (values %open) { $end = $_->[0]{offset} if !defined $end || $_->[0]{offset} < $end }
    return sort { $a->{offset} <=> $b->{offset} } grep { !defined $end || $_->{offset} < $end } @found;
}

# -- files beside a log ---------------------------------------------------------------------------

sub rows {
    my ($data, $layout, @names) = @_;
    my $size = length pack $layout, (0) x @names;
    return map {
        my %row;
        @row{@names} = unpack $layout, substr $data, $_ * $size, $size;
        \%row;
    } 0 .. int(length($data) / $size) - 1;
}

sub index_rows {
    my ($base, $size, @given) = @_;
    die "the last entry is cut\n" if length($given[0]) % $size;
    my @found = rows(@given);
    $_->{offset} += $base for @found;
    return @found;
}

sub snapshot {
    my ($data) = @_;
    my ($version, $crc, $count) = unpack 's>Nl>', $data;
    die "the checksum is wrong\n" if $version != 1 || crc32c(substr $data, 6) != $crc;
    my @found = rows(substr($data, 10), 'q>s>l>q>l>q>l>q>', @snapshot);
    die "the number of producers is wrong\n" if @found != $count || length($data) != 10 + 46 * $count;
    return @found;
}

# -- writing --------------------------------------------------------------------------------------

sub varint_of {
    my ($value, $bytes) = (unpack('Q', pack 'q', $_[0]), '');
    $value = $_[0] < 0 ? ~$value << 1 | 1 : $value << 1;
    for (; $value > 127; $value >>= 7) { $bytes .= chr($value & 127 | 128) }
    return $bytes . chr $value;
}

sub sized { return defined $_[0] ? varint_of(length $_[0]) . $_[0] : varint_of(-1) }

sub deflated {
    my ($data, $codec) = @_;
    return $data if !$codec;
    die "cannot compress with codec $codec\n" if $codec != 1;
    gzip(\$data, \my $out) or die "gzip fails\n";
    return $out;
}

sub encode {
    my ($asked) = @_;
    my ($codec, @records) = ($codecs{ $asked->{compression} }, @{ $asked->{records} });
    for my $record (@records) {
        for ('key', 'value') { $record->{$_} = decode_base64($record->{$_}) if defined $record->{$_} }
    }
    return messages($asked->{magic}, $codec, @records) if $asked->{magic} < 2;
    my ($base, $time, $payload) = ($records[0]{offset}, $records[0]{timestamp}, '');
    my $last = $time;
    for my $record (@records) {
        $last = $record->{timestamp} if $record->{timestamp} > $last;
        my $body = "\0" . varint_of($record->{timestamp} - $time) . varint_of($record->{offset} - $base)
            . sized($record->{key}) . sized($record->{value}) . varint_of(scalar @{ $record->{headers} });
        for my $pair (@{ $record->{headers} }) {
            $body .= join '', map { sized(defined $_ ? decode_base64($_) : undef) } @$pair;
        }
        $payload .= sized($body);
    }
    my $of = sub { return $asked->{ $_[0] } // -1 };
    my $body = pack('nl>q>q>q>s>l>l>', $codec | ($asked->{transactional} ? 16 : 0),
        $records[-1]{offset} - $base, $time, $last, $of->('producer_id'), $of->('producer_epoch'),
        $of->('base_sequence'), scalar @records) . deflated($payload, $codec);
    $body = pack('l>CN', $of->('partition_leader_epoch'), 2, crc32c($body)) . $body;
    return pack('q>l>', $base, length $body) . $body;
}

sub messages {
    my ($magic, $codec, @records) = @_;
    my ($whole, $last, $base) = ('', -1, $codec && $magic ? $records[0]{offset} : 0);
    for my $record (@records) {
        $last = $record->{timestamp} if $record->{timestamp} > $last;
        $whole .= message_of($magic, 0, $record->{offset} - $base, @$record{qw(timestamp key value)});
    }
    return $whole if !$codec;
    return message_of($magic, $codec, $records[-1]{offset}, $last, undef, deflated($whole, $codec));
}

sub message_of {
    my ($magic, $flags, $offset, $time, @fields) = @_;
    my $body = pack('CC', $magic, $flags) . ($magic ? pack 'q>', $time : '')
        . join '', map { defined $_ ? pack('l>', length $_) . $_ : pack 'l>', -1 } @fields;
    return pack('q>l>N', $offset, 4 + length $body, crc32($body)) . $body;
}

# -- requests -------------------------------------------------------------------------------------

sub answer {
    my ($asked) = @_;
    my ($kind, $base) = ($asked->{kind}, $asked->{base_offset} || 0);
    return { protocol => 2, name => 'Perl', version => "$^V", kinds => \@kinds,
        compression => ['none', 'gzip'], checksums => JSON::PP::true } if $kind eq 'hello';
    return { bytes => shown(encode($asked)) } if $kind eq 'encode';
    my $data = decode_base64($asked->{data});
    return { entries => [index_rows($base, 8, $data, 'l>l>', qw(offset position))] }
        if $kind eq 'offset_index';
    return { entries => [index_rows($base, 12, $data, 'q>l>', qw(timestamp offset))] }
        if $kind eq 'time_index';
    return { entries => [rows($data, 's>q>q>q>q>',
        qw(version producer_id first_offset last_offset last_stable_offset))] }
        if $kind eq 'transaction_index';
    return { entries => [snapshot($data)] } if $kind eq 'producer_snapshot';
    my @batches = entries($data, $asked->{decompressed});
    return { records => [map { as_json($_) } committed(@batches)] } if $kind eq 'committed_records';
    my $is_control = $kind eq 'control_records';
    my @records = map { @{ $_->{records} } } grep { !($_->{flags} & 32) == !$is_control } @batches;
    return { control_records => [map { control($_) } @records] } if $is_control;
    return { records => [map { as_json($_) } @records] };
}

$| = 1;
my $json = JSON::PP->new->ascii;
while (my $line = <STDIN>) {
    my $asked = $json->decode($line);
    my $answer = eval { answer($asked) } || { error => "$@" };
    print $json->encode({ id => $asked->{id}, %$answer }), "\n";
}
