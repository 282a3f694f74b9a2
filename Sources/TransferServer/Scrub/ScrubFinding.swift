package import TransferModel

/// A stored file that differs from the catalog, or a path of the catalog without a file.
package struct ScrubFinding: Sendable {
    /// What is wrong with the path. The names are stable.
    package enum Kind: String, CaseIterable, Sendable {
        /// The file was not changed, but has other content: the disk has lost it.
        case rotten
        /// The file was changed after it was stored.
        case changed
        /// The file was acknowledged, and does not exist.
        case missing
        /// The file cannot be read, so it cannot be compared.
        case unreadable
        /// The file exists, and the catalog has no entry for it.
        case untracked

        /// Whether an acknowledgement no longer holds, or cannot be checked.
        package var isFailure: Bool { self == .rotten || self == .missing || self == .unreadable }
    }

    package var kind: Kind
    package var path: String

    /// Bytes of the file; if it is missing, those in the catalog.
    package var size: UInt64

    /// The acknowledged digest; nil if there is no entry.
    package var recorded: Digest?

    /// The digest of the file's content; nil if it was not read.
    package var found: Digest?

    /// Why the file cannot be read; empty otherwise.
    package var reason = ""

    package init(
        kind: Kind, path: String, size: UInt64, recorded: Digest? = nil, found: Digest? = nil, reason: String = ""
    ) {
        (self.kind, self.path, self.size) = (kind, path, size)
        (self.recorded, self.found, self.reason) = (recorded, found, reason)
    }
}
