#!/usr/bin/env tclsh
# A decoder of logs in Tcl as a testee, without packages. It was written from docs/guide/conform.md
# and the pages of the formats in a few minutes: the second example of a stranger's decoder.

# A reader is a global variable: bytes, and the place in them.
proc take {name size} {
    upvar #0 $name reader
    lassign $reader data at
    if {$size < 0 || $size > [string length $data] - $at} { error "a size is negative or too large" }
    lset reader 1 [expr {$at + $size}]
    return [string range $data $at [expr {$at + $size - 1}]]
}
proc left {name} { upvar #0 $name reader; expr {[string length [lindex $reader 0]] - [lindex $reader 1]} }
proc number {name form size} { binary scan [take $name $size] $form value; return $value }
proc wide {value} { expr {(($value + 2**63) & (2**64 - 1)) - 2**63} }
proc varint {name {bits 32}} {
    for {set value 0; set shift 0} {$shift < $bits} {incr shift 7} {
        set byte [number $name cu 1]
        set value [expr {($value | ($byte & 127) << $shift) & (1 << $bits) - 1}]
        if {$byte < 128} { return [expr {($value >> 1) ^ -($value & 1)}] }
    }
    error "a varint is too long"
}
proc nullable {name size} { expr {$size < 0 ? "null" : [shown [take $name $size]]} }
proc shown {bytes} { return "\"[binary encode base64 $bytes]\"" }
proc bytes {shown} { expr {$shown eq "null" ? "" : [binary decode base64 [string trim $shown \"]]} }

for {set at 0} {$at < 256} {incr at} {
    set value $at
    foreach bit {1 2 3 4 5 6 7 8} { set value [expr {$value >> 1 ^ ($value & 1 ? 0x82F63B78 : 0)}] }
    lappend table $value
}
proc crc32c {data} {
    set check 0xFFFFFFFF
    binary scan $data cu* bytes
    foreach byte $bytes { set check [expr {$check >> 8 ^ [lindex $::table [expr {($check ^ $byte) & 255}]]}] }
    expr {$check ^ 0xFFFFFFFF}
}

# Each entry of a log is appended to `found`. Inside a wrapper, `outer` has what counts of it.
proc entries {name given control {outer {}}} {
    upvar 1 found found
    while {[left $name]} {
        set base [number $name W 8]
        if {[set size [number $name I 4]] < 14} { error "an entry is too small" }
        set entry [take $name $size]
        set given [lassign $given plain]
        binary scan $entry @4c magic
        if {$magic ni [expr {$outer eq "" ? {0 1 2} : {0 1}}]} { error "no magic $magic here" }
        if {$magic == 2} { batch $base $entry $plain $control } else { message $base $magic $entry $plain $control $outer }
    }
}
proc payload {data codec plain} {
    if {$codec && $plain in {{} null}} { error "cannot decompress codec $codec" }
    return [list [expr {$codec ? [bytes $plain] : $data}] 0]
}
proc message {base magic entry plain control outer} {
    upvar 1 found found
    set ::m [list $entry 6]
    binary scan $entry Iu@5cu crc flags
    if {[zlib crc32 [string range $entry 4 end]] != $crc} { error "the checksum is wrong" } elseif {$control} return
    set time [expr {$magic ? [number m W 8] : -1}]
    if {$magic && $outer ne "" && [lindex $outer 0] & 8} { set time [lindex $outer 1] }
    foreach what {key value} { set $what [nullable m [number m I 4]] }
    if {($flags & 7) == 0} { return [lappend found [list $base $time $key $value {}]] }
    if {$outer ne "" || $value eq "null"} { error "a wrapper is in a wrapper, or has no value" }
    set first [llength $found]
    set ::inner [payload [bytes $value] [expr {$flags & 7}] $plain]
    entries inner {} 0 [list $flags $time]
    # Inside a wrapper of magic 1 offsets count back from the last, which is that of the wrapper.
    set add [expr {$magic ? $base - [lindex $found end 0] : 0}]
    for {set at $first} {$at < [llength $found]} {incr at} { lset found $at 0 [expr {[lindex $found $at 0] + $add}] }
}
proc batch {base entry plain control} {
    upvar 1 found found
    binary scan $entry @5IuSu@15WW@45I crc flags first last count
    if {![info exists count] || [crc32c [string range $entry 9 end]] != $crc || $count < 0} { error "the header is wrong" }
    set ::set [payload [string range $entry 49 end] [expr {$count ? $flags & 7 : 0}] $plain]
    for {set at 0} {$at < $count} {incr at} {
        set ::r [list [take set [varint set]] 0]
        take r 1
        set time [wide [expr {$first + [varint r 64]}]]
        set offset [wide [expr {$base + [varint r]}]]
        foreach what {key value} { set $what [nullable r [varint r]] }
        set headers {}
        for {set pairs [varint r]} {$pairs > 0} {incr pairs -1} {
            lappend headers "\[[shown [take r [varint r]]],[nullable r [varint r]]\]"
        }
        if {$pairs < 0 || [left r]} { error "a record does not end where its size says" }
        if {$control && $flags & 32} { lappend found [marker $offset [bytes $key] [bytes $value]] }
        if {!$control && !($flags & 32)} {
            lappend found [list $offset [expr {$flags & 8 ? $last : $time}] $key $value $headers]
        }
    }
    if {$count && [left set]} { error "bytes follow the last record" }
}
proc marker {offset key value} {
    if {[binary scan $key SS version type] < 2 || $version < 0} { error "no control record" }
    if {$type ni {0 1}} { return "{\"offset\":$offset,\"type\":$type}" }
    if {[binary scan $value SI version epoch] < 2 || $version < 0} { error "no marker" }
    return "{\"offset\":$offset,\"type\":$type,\"coordinator_epoch\":$epoch}"
}
proc record {offset time key value headers} {
    return "{\"offset\":$offset,\"timestamp\":$time,\"key\":$key,\"value\":$value,\"headers\":\[[join $headers ,]\]}"
}

set hello {"protocol":2,"name":"Tcl","version":"%s","kinds":["log","control_records"],"compression":["none"],"checksums":true}
proc member {line name form} { expr {[regexp "\"$name\":\\s*$form" $line all value] ? $value : ""} }
while {[gets stdin line] >= 0} { ;# no string of a request needs an escape
    set id [member $line id {("[^"]*")}]
    set kind [member $line kind {"(\w+)"}]
    set data [member $line data {"([^"]*)"}]
    set given [split [string map {" " ""} [member $line decompressed {\[([^\]]*)}]] ,]
    set control [expr {$kind eq "control_records"}]
    set found {}
    set ::log [list [bytes $data] 0]
    if {$kind eq "hello"} { set answer [format $hello [info patchlevel]] } elseif {[catch { entries log $given $control } why]} {
        set answer "\"error\":\"[string map {\" ' \\ /} $why]\""
    } elseif {$control} { set answer "\"control_records\":\[[join $found ,]\]" } else {
        set answer "\"records\":\[[join [lmap item $found { record {*}$item }] ,]\]"
    }
    puts "{\"id\":$id,$answer}"
    flush stdout
}
