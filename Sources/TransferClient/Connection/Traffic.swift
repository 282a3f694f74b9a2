import Synchronization

/// Bytes that have gone over the wire for content, of all connections that share it: compressed content as it is, without holes and what
/// the other side has already, and again what was sent again. Encryption is not counted.
package final class Traffic: Sendable {
    private let count = Atomic<UInt64>(0)

    package init() {}

    /// So far.
    package var bytes: UInt64 { count.load(ordering: .relaxed) }

    package func add(_ bytes: Int) {
        count.wrappingAdd(UInt64(max(0, bytes)), ordering: .relaxed)
    }
}
