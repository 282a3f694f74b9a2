/// What TCP knows of the way to a peer (tcp(7), TCP_INFO).
package struct LinkReading: Equatable, Sendable {
    /// The shortest that was seen, in nanoseconds.
    package let leastRoundTrip: Int64

    /// Whether what is sent is what the line was measured to carry, rather than what fits until something is lost.
    package let measuresBandwidth: Bool

    /// Of the time in which there was something to send, the share in which the receiver's window or the buffer here held it back: 0
    /// to about 1.
    package let heldByMemory: Double

    package init(leastRoundTrip: Int64, measuresBandwidth: Bool, heldByMemory: Double) {
        (self.leastRoundTrip, self.measuresBandwidth) = (leastRoundTrip, measuresBandwidth)
        self.heldByMemory = heldByMemory
    }
}
