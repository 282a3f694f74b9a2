/// What TCP knows of the way to a peer (tcp(7), TCP_INFO).
package struct LinkReading: Equatable, Sendable {
    /// The shortest that was seen, in nanoseconds.
    package let leastRoundTrip: Int64

    /// The smoothed one, in nanoseconds: what it is longer than the shortest one is spent in queues.
    package let roundTrip: Int64

    /// Whether what is sent is what the line was measured to carry, rather than what fits until something is lost.
    package let measuresBandwidth: Bool

    /// Of the time in which there was something to send, the share in which the receiver's window or the buffer here held it back: 0
    /// to about 1.
    package let heldByMemory: Double

    /// Bytes that the peer has of what was sent.
    package let acknowledged: UInt64

    /// Segments that were sent again.
    package let sentAgain: UInt32

    package init(
        leastRoundTrip: Int64, roundTrip: Int64, measuresBandwidth: Bool, heldByMemory: Double,
        acknowledged: UInt64 = 0, sentAgain: UInt32 = 0
    ) {
        (self.leastRoundTrip, self.roundTrip) = (leastRoundTrip, roundTrip)
        (self.measuresBandwidth, self.heldByMemory) = (measuresBandwidth, heldByMemory)
        (self.acknowledged, self.sentAgain) = (acknowledged, sentAgain)
    }
}
