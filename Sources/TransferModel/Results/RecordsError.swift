/// The reason why the catalog could not be read or written.
package struct RecordsError: Error, Equatable, Sendable {
    package enum Reason: Equatable, Sendable {
        /// The file is not a database, or its content contradicts itself.
        case damaged
        /// A version that this program does not know, usually a newer one.
        case unknownVersion
        /// The disk or the quota of the process is full.
        case full
        /// The disk reported an error.
        case failed
        /// Another program held the lock for too long.
        case busy
        /// Any other reason, such as permissions or memory.
        case unavailable
    }

    package let reason: Reason

    /// A sentence for the operator.
    package let message: String

    package init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }

    /// Whether the database is useless to every program. One of another version is not: its own program can read it.
    package var condemns: Bool { reason == .damaged }
}
