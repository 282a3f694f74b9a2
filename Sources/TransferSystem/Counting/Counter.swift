import Synchronization

/// Something that is counted from any thread, at next to no cost: what it counts orders nothing.
package final class Counter: Sendable {
    private let total = Atomic<UInt64>(0)

    package init() {}

    /// Wraps around after 2^64.
    package func add(_ count: UInt64 = 1) { total.wrappingAdd(count, ordering: .relaxed) }

    package var value: UInt64 { total.load(ordering: .relaxed) }
}
