public import TransferModel
package import TransferProtocol

/// A file or folder on a server.
public struct RemoteEntry: Sendable, Equatable {
    /// A moment in UTC, to the nanosecond.
    public struct Time: Sendable, Hashable {
        /// Seconds since 1970-01-01 00:00 UTC; may be negative.
        public let seconds: Int64

        /// Nanoseconds within the second, 0 to 999,999,999.
        public let nanoseconds: UInt32
    }

    /// The path below the folder of the server's address; empty for that folder itself.
    public let path: String

    /// Whether the entry is a folder.
    public let isDirectory: Bool

    /// Bytes of content; 0 for a folder.
    public let size: UInt64

    /// When the content was last modified.
    public let modified: Time

    /// Permission bits, 0 to 0o777.
    public let permissions: UInt16

    /// The kind of the content; nil if the server doesn't know it, or was not asked for it.
    public let kind: ContentKind?

    /// The digest of the content; nil if the server doesn't know it.
    public let digest: Digest?

    /// When the content was stored; nil if the server doesn't know.
    public let stored: Time?

    /// Tells a changed file from an unchanged one.
    package let version: FileVersion

    /// Whether the entry is a symbolic link. Only requests with `wantsAll` list links.
    package var isLink = false

    /// The other attributes that the server keeps; nil unless the request has `wantsAll`.
    package var extras: ListedEntry.Extras?
}

extension RemoteEntry {
    /// Whether the entry has extended attributes that the server cannot send.
    var isPartial: Bool { extras?.isPartial ?? false }

    init(_ path: String, _ entry: ListedEntry) {
        self.path = path
        isDirectory = entry.form == .directory
        size = entry.size
        modified = Time(seconds: entry.modified.seconds, nanoseconds: entry.modified.nanoseconds)
        permissions = entry.permissions & 0o777
        kind = entry.stored == nil ? nil : entry.kind
        digest = entry.digest
        stored = entry.stored.map { stored in
            let (seconds, milliseconds) = (stored >> 63 == 0 ? stored / 1000 : 0, stored >> 63 == 0 ? stored % 1000 : 0)
            return Time(seconds: seconds, nanoseconds: UInt32(milliseconds) * 1_000_000)
        }
        version = entry.version
        isLink = entry.form == .symbolicLink
        extras = entry.extras
    }
}
