import TransferModel

/// What a client was sent, and what of it counts as received. The wire has no acknowledgement, so that is decided from what
/// else is known: a delivery is received when a heartbeat comes at least `proof` after a moment at which the other end's
/// system had taken all bytes of it. A heartbeat counts from when it came, and not from when it was read: one that has waited here
/// says nothing about a client that may be dead by now. Sans-IO: times and counts are arguments.
///
/// ```
///   sent ──a heartbeat comes, and the other end's system has all of it──► taken ──a heartbeat, `proof` later──► received
/// ```
struct ChatDeliveries {
    private struct Sent {
        let id: UploadID
        /// Bytes of the connection up to its end.
        let end: UInt64
    }

    /// So long a client must have been alive with all of a message in its machine. It reads in a loop, and says that it is
    /// there once a second: a heartbeat that was on its way before counts for nothing.
    static let proof = Interval.seconds(1)

    /// Messages that may be sent without being received; then the next ones wait for a heartbeat.
    static let most = 1024

    private var sent: [Sent] = []
    /// Of them, those in front that the other end's system has, with the moment at which that was known.
    private var taken: [(count: Int, moment: MonotonicTime)] = []

    /// Messages that are not known to be received.
    var count: Int { sent.count }

    var isEmpty: Bool { sent.isEmpty }

    var isFull: Bool { sent.count >= Self.most }

    /// All of a message was given to the connection.
    ///
    /// - Parameter end: bytes of the connection up to there; not less than for the one before.
    mutating func sent(_ id: UploadID, end: UInt64) {
        sent.append(Sent(id: id, end: end))
    }

    /// A heartbeat has come.
    ///
    /// - Parameters:
    ///   - arrived: when data last came from the client; at `now`, or before.
    ///   - acknowledged: bytes of the connection that the other end's system has now.
    /// - Returns: what is received by now, in order.
    mutating func heard(at now: MonotonicTime, arrived: MonotonicTime, acknowledged: UInt64) -> [UploadID] {
        var count = 0
        while let oldest = taken.first, oldest.moment + Self.proof <= arrived {
            count += oldest.count
            taken.removeFirst()
        }
        let received = sent.prefix(count).map(\.id)
        sent.removeFirst(count)
        noteTaken(at: now, acknowledged)
        return received
    }

    private mutating func noteTaken(at now: MonotonicTime, _ acknowledged: UInt64) {
        let known = taken.reduce(0) { $0 + $1.count }
        let fresh = sent.dropFirst(known).prefix { $0.end <= acknowledged }.count
        if fresh > 0 { taken.append((fresh, now)) }
    }
}
