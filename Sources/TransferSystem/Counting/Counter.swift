import Synchronization

/// A counter for any thread, at almost no cost: it does not order other memory accesses.
package final class Counter: Sendable {
    private let total = Atomic<UInt64>(0)

    package init() {}

    /// Adds to the counter, which wraps around after 2^64.
    package func add(_ count: UInt64 = 1) { total.wrappingAdd(count, ordering: .relaxed) }

    package var value: UInt64 { total.load(ordering: .relaxed) }
}
