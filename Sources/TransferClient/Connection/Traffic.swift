import Synchronization

/// Counts the bytes of content on the wire, for all connections that share the counter: compressed content in its
/// compressed size, and repeated content again, but no holes and no content that the other side has already. TLS
/// overhead does not count.
package final class Traffic: Sendable {
    private let count = Atomic<UInt64>(0)

    package init() {}

    /// The bytes counted so far.
    package var bytes: UInt64 { count.load(ordering: .relaxed) }

    package func add(_ bytes: Int) {
        count.wrappingAdd(UInt64(max(0, bytes)), ordering: .relaxed)
    }
}
