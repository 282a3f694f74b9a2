/// TCP's measurements of the path to a peer (tcp(7), TCP_INFO).
package struct LinkReading: Equatable, Sendable {
    /// The shortest round trip so far, in nanoseconds.
    package let leastRoundTrip: Int64

    /// The smoothed round trip in nanoseconds. The difference from the shortest round trip is time in queues.
    package let roundTrip: Int64

    /// Whether the congestion control measures the link's bandwidth and sends at that rate. Other congestion controls
    /// send faster until packets are lost.
    package let measuresBandwidth: Bool

    /// The share of the sending time during which the receiver's window or the local buffer limited sending: 0 to about
    /// 1.
    package let heldByMemory: Double

    /// Bytes that the peer has acknowledged.
    package let acknowledged: UInt64

    /// Number of segments that were retransmitted.
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
