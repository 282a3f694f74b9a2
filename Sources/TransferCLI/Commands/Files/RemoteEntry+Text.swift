internal import TransferClient
internal import TransferModel

extension RemoteEntry {
    /// What it is, in a word.
    var form: String { isDirectory ? "folder" : kind?.name ?? "file" }

    /// The path as people see it, with a slash behind a folder.
    var shownPath: String { (path.isEmpty ? "." : path.escapedForDisplay) + (isDirectory ? "/" : "") }

    /// Size, time, kind and path in columns.
    var longLine: String {
        let size = isDirectory ? "-" : ByteFormat.size(size)
        return "\(Self.padded(size, 8, isRight: true))  \(modified.shown)  \(Self.padded(form, 8))  \(shownPath)"
    }

    private static func padded(_ text: String, _ width: Int, isRight: Bool = false) -> String {
        let padding = String(repeating: " ", count: max(0, width - text.utf8.count))
        return isRight ? padding + text : text + padding
    }

    /// The object of `--json`; every key is always there.
    var json: JSONLine {
        [
            "schema": .string(JSONSchema.entry), "path": .string(path),
            "type": .string(isDirectory ? "directory" : "file"), "size": .integer(size),
            "modified": .string(modified.exact), "permissions": .string(String(permissions, radix: 8)),
            "kind": kind.map { .string($0.name) } ?? .null,
            "digest": digest.map { .string($0.description) } ?? .null,
            "stored": stored.map { .string($0.exact) } ?? .null,
        ]
    }
}

extension RemoteEntry.Time {
    /// To the second, in UTC.
    var shown: String { UTCTime(clamping: seconds).description }

    /// As in RFC 3339, with as many digits behind the point as it takes.
    var exact: String {
        Timestamp(seconds: UTCTime(clamping: seconds).seconds, nanoseconds: nanoseconds).text(.exact)
    }
}
