/// Why records of uploads or mail could not be read or written.
package struct RecordsError: Error, Equatable, Sendable {
    package enum Reason: Equatable, Sendable {
        /// What is kept is no database, or one whose content contradicts itself.
        case damaged
        /// A version that this program does not know, mostly that of a newer one.
        case unknownVersion
        /// No room, or no right to more of it.
        case full
        /// The disk reported an error.
        case failed
        /// Another program kept it for too long.
        case busy
        /// Anything else: no permission, no memory.
        case unavailable
    }

    package let reason: Reason

    /// A sentence for the operator.
    package let message: String

    package init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }

    /// Whether what is kept is of no more use to any program. One of another version is: to the program that wrote it.
    package var condemns: Bool { reason == .damaged }
}
