internal import TransferModel

/// What a peer of a classic framing can make this side hold or skip, each checked before anything is allocated for it.
package enum ClassicLimits {
    /// Bytes of a JSON head of `jsonline`. Those of known programs have some hundreds.
    package static let head = 64 << 10

    /// Bytes of the JSON of one message, inflated where it was compressed: a chunk of `chunk` bytes as Base64 and as much again.
    package static let json = 128 << 10

    /// The same of messages that carry no content, where they were compressed: a name, a path and a sentence, all of them escaped.
    package static let shortJSON = 16 << 10

    /// Values in one JSON text. Messages have fewer than ten; 128 KiB of single digits would take forty times as long to read as
    /// one string of that length.
    package static let jsonValues = 64

    /// Arrays and objects within each other in JSON. Messages have one.
    package static let jsonDepth = 16

    /// Bytes of content in one chunk: 65,536 digits of Base64.
    package static let chunk = 48 << 10

    /// Bytes that are kept of the name of an upload: what is longer than a name can be is cut to one that is still too long.
    package static let name = Limits.pathComponent + 1

    /// Bytes of the name of a client, as for senders in receipts.
    package static let client = Limits.sender

    /// Bytes of a heartbeat's body, which are skipped. Those of known programs have fewer than twenty.
    package static let heartbeat: UInt64 = 64 << 10

    /// Bytes of a heartbeat's head that is remembered, to know it again without reading it. Those of known programs have
    /// some 80, and a name.
    static let knownHead = 512

    /// Heads of heartbeats that are remembered: some programs send two in turn.
    static let knownHeads = 2

    /// Bytes of the largest body that a client of `jsonline` is sent: some read the size into 32 bits with a sign.
    package static let handedOn = UInt64(Int32.max)

    /// Bytes between two messages of `tagged37`, which are skipped: three days of its heartbeats, 15 bytes every 5 seconds,
    /// are 0.8 MB.
    package static let noise = 1 << 20

    /// The largest id of an upload: JSON's numbers are exact up to there in every language (RFC 8259, section 6).
    package static let id: UInt64 = 1 << 53

    /// Bytes of a sentence that is sent. With it, a path and a name, all of them escaped, a message fits its 16-bit length.
    package static let sentence = 2048
}

extension String {
    /// The front of the text, whole characters of Unicode and no more bytes in UTF-8 than that.
    func clipped(to count: Int) -> String {
        guard utf8.count > count else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: count)
        while UTF8.isContinuation(utf8[end]) { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
