/// The reason why the catalog could not be read or written.
package struct RecordsError: Error, Equatable, Sendable {
    package enum Reason: Equatable, Sendable {
        /// The file is not a database, or its content contradicts itself.
        case damaged
        /// The file has a version that this program does not know, usually a newer one.
        case unknownVersion
        /// The disk or the quota of the process is full.
        case full
        /// The disk reported an error.
        case failed
        /// Another program held the lock for too long.
        case busy
        /// Opening, reading or writing failed for another reason, such as permissions or memory.
        case unavailable
    }

    package let reason: Reason

    /// A sentence for the operator.
    package let message: String

    package init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }

    /// Whether no program can use the database any more. A database of another version can still be used by the program
    /// that wrote it.
    package var condemns: Bool { reason == .damaged }
}
