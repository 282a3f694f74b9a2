/// How far a scrub is.
package struct ScrubProgress: Sendable {
    /// Files that were looked at, and bytes that were read.
    package var files = 0
    package var bytes: UInt64 = 0

    /// What the catalog lets expect.
    package var expected: ScrubSummary.Count?
}
