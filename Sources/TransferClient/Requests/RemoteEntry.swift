public import TransferModel
package import TransferProtocol

/// A file or folder on a server.
public struct RemoteEntry: Sendable, Equatable {
    /// A moment in UTC.
    public struct Time: Sendable, Hashable {
        /// Since 1970-01-01 00:00 UTC.
        public let seconds: Int64

        /// 0 to 999,999,999.
        public let nanoseconds: UInt32
    }

    /// Below the folder of the server's address; empty for that folder itself.
    public let path: String

    /// Whether it is a folder.
    public let isDirectory: Bool

    /// Bytes of content; 0 for a folder.
    public let size: UInt64

    /// When the content last changed.
    public let modified: Time

    /// Permission bits, 0 to 0o777.
    public let permissions: UInt16

    /// What the content is; nothing where the server doesn't know, or was not asked.
    public let kind: ContentKind?

    /// Of the content, where the server knows it.
    public let digest: Digest?

    /// When it was stored, where the server knows.
    public let stored: Time?

    /// What tells a file from what it was before.
    package let version: FileVersion

    /// Whether it is a symbolic link, which is only listed where all is wanted.
    package var isLink = false

    /// What else is kept of it, where all is wanted.
    package var extras: ListedEntry.Extras?
}

extension RemoteEntry {
    /// Whether the server has extended attributes of it that it cannot tell.
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
