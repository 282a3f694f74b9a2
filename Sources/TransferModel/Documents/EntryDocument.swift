/// A stored file or folder, as programs read it: the object of `list --json`, and of folders over HTTP.
package struct EntryDocument {
    package static let schema = "transfer.entry/1"

    /// As the client knows it.
    package var path: String
    package var isDirectory: Bool
    /// Bytes of content; 0 for a folder.
    package var size: UInt64
    package var modified: Timestamp
    /// 0 to 0o777.
    package var permissions: UInt16
    /// Nothing where it is not known, as of folders.
    package var kind: ContentKind?
    package var digest: Digest?
    package var stored: Timestamp?

    package init(
        path: String, isDirectory: Bool, size: UInt64, modified: Timestamp, permissions: UInt16, kind: ContentKind?,
        digest: Digest?, stored: Timestamp?
    ) {
        (self.path, self.isDirectory, self.size, self.modified) = (path, isDirectory, size, modified)
        (self.permissions, self.kind, self.digest, self.stored) = (permissions, kind, digest, stored)
    }

    /// Every key is always there.
    package var json: JSONLine {
        [
            "schema": .string(Self.schema), "path": .string(path),
            "type": .string(isDirectory ? "directory" : "file"), "size": .integer(size),
            "modified": .string(modified.exact), "permissions": .string(String(permissions, radix: 8)),
            "kind": kind.map { .string($0.name) } ?? .null,
            "digest": digest.map { .string($0.description) } ?? .null,
            "stored": stored.map { .string($0.exact) } ?? .null,
        ]
    }
}

extension Timestamp {
    /// As in RFC 3339, with as many digits behind the point as it takes; moments that it has no words for are the nearest ones.
    package var exact: String {
        Timestamp(seconds: UTCTime(clamping: seconds).seconds, nanoseconds: nanoseconds).text(.exact)
    }
}
