package import TransferModel

/// A stored file that is not as the catalog says, or a path where none is.
package struct ScrubFinding: Sendable {
    /// What is wrong. The names are stable.
    package enum Kind: String, CaseIterable, Sendable {
        /// Nobody has changed it, and yet it has other content: the disk lost it.
        case rotten
        /// Somebody has changed it after it was stored.
        case changed
        /// It was acknowledged, and is not there.
        case missing
        /// Nobody can say whether it is as it was.
        case unreadable
        /// It is there, and the catalog knows nothing of it.
        case stranger

        /// Whether an acknowledgement no longer holds, or nobody knows.
        package var isFailure: Bool { self == .rotten || self == .missing || self == .unreadable }
    }

    package var kind: Kind
    package var path: String

    /// Bytes that are there; of one that is missing, that were.
    package var size: UInt64

    /// What was acknowledged.
    package var recorded: Digest?

    /// What is there, where it was read.
    package var found: Digest?

    /// Why it cannot be read; empty otherwise.
    package var reason = ""
}
