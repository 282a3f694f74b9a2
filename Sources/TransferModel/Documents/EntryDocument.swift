/// The JSON object of a stored file or folder, for `list --json` and for folders over HTTP.
package struct EntryDocument {
    package static let schema = "transfer.entry/1"

    /// Path as the client knows it.
    package var path: String
    package var isDirectory: Bool
    /// Size of the content in bytes; 0 for a folder.
    package var size: UInt64
    package var modified: Timestamp
    /// Permission bits, 0 to 0o777.
    package var permissions: UInt16
    /// Kind of the content; nil if it is unknown, as for folders.
    package var kind: ContentKind?
    package var digest: Digest?
    package var stored: Timestamp?
    /// What a picture or video says about itself; nil if it is unknown.
    package var picture: JSONLine?

    package init(
        path: String, isDirectory: Bool, size: UInt64, modified: Timestamp, permissions: UInt16, kind: ContentKind?,
        digest: Digest?, stored: Timestamp?
    ) {
        (self.path, self.isDirectory, self.size, self.modified) = (path, isDirectory, size, modified)
        (self.permissions, self.kind, self.digest, self.stored) = (permissions, kind, digest, stored)
    }

    /// The object; every key is always present, except `picture`, which only pictures have.
    package var json: JSONLine {
        var json: JSONLine = [
            "schema": .string(Self.schema), "path": .string(path),
            "type": .string(isDirectory ? "directory" : "file"), "size": .integer(size),
            "modified": .string(modified.exact), "permissions": .string(String(permissions, radix: 8)),
            "kind": kind.map { .string($0.name) } ?? .null,
            "digest": digest.map { .string($0.description) } ?? .null,
            "stored": stored.map { .string($0.exact) } ?? .null,
        ]
        if let picture { json.append("picture", .object(picture)) }
        return json
    }
}

extension Timestamp {
    /// RFC 3339 with as many decimals as necessary; moments outside its range become the nearest one in it.
    package var exact: String {
        Timestamp(seconds: UTCTime(clamping: seconds).seconds, nanoseconds: nanoseconds).text(.exact)
    }
}
