internal import TransferModel

/// Limits on what a peer of a classic framing can make this side hold or skip; each is checked before allocation.
package enum ClassicLimits {
    /// The most bytes of a JSON head of `jsonline`. Known programs send some hundreds.
    package static let head = 64 << 10

    /// The most bytes of the JSON of one message, after decompression: half for a chunk of `chunk` bytes as Base64,
    /// half for everything else.
    package static let json = 128 << 10

    /// The most bytes of the JSON of a compressed message without content, after decompression: a name, a path and a
    /// sentence, all escaped.
    package static let shortJSON = 16 << 10

    /// The most values in one JSON text. Messages have fewer than ten; 128 KiB of single digits would take forty times
    /// as long to parse as one string of that length.
    package static let jsonValues = 64

    /// The deepest nesting of arrays and objects in JSON. Messages have one level.
    package static let jsonDepth = 16

    /// The most bytes of content in one chunk: 65,536 digits of Base64.
    package static let chunk = 48 << 10

    /// Bytes of an upload's name that are kept: one more than a name may have, so that a name that was cut is still
    /// refused.
    package static let name = Limits.pathComponent + 1

    /// The most bytes of a client's name, as for senders in receipts.
    package static let client = Limits.sender

    /// The most bytes of a heartbeat's body, which are skipped. Known programs send fewer than twenty.
    package static let heartbeat: UInt64 = 64 << 10

    /// The most bytes of a heartbeat's head that is remembered, so that it is recognised without parsing. The heads of
    /// known programs have some 80 bytes, and a name.
    static let knownHead = 512

    /// The number of heartbeats' heads that are remembered: some programs send two in turn.
    static let knownHeads = 2

    /// The most bytes of a body that is forwarded to a client of `jsonline`: some read the size into a signed 32-bit
    /// integer.
    package static let handedOn = UInt64(Int32.max)

    /// The most bytes that are skipped between two messages of `tagged37`: three days of heartbeats, 15 bytes every
    /// 5 seconds, are 0.8 MB.
    package static let noise = 1 << 20

    /// The largest ID of an upload: JSON's numbers are exact up to there in every language (RFC 8259, section 6).
    package static let id: UInt64 = 1 << 53

    /// The most bytes of a sentence that is sent. With a path and a name, all escaped, the message fits its 16-bit
    /// length.
    package static let sentence = 2048
}

extension String {
    /// The longest prefix of whole Unicode scalars that has at most `count` bytes in UTF-8.
    func clipped(to count: Int) -> String {
        guard utf8.count > count else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: count)
        while UTF8.isContinuation(utf8[end]) { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
