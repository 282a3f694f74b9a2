internal import TransferClient
internal import TransferModel

extension RemoteEntry {
    /// `folder`, or the kind of the content.
    var form: String { isDirectory ? "folder" : kind?.name ?? "file" }

    /// The escaped path, with a slash after a folder.
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

    /// The entry as an object of `--json`.
    var json: JSONLine {
        EntryDocument(
            path: path, isDirectory: isDirectory, size: size, modified: modified.timestamp, permissions: permissions,
            kind: kind, digest: digest, stored: stored?.timestamp
        ).json
    }
}

extension RemoteEntry.Time {
    /// The time to the second, in UTC.
    var shown: String { UTCTime(clamping: seconds).description }

    /// The time as in RFC 3339, with all its decimals.
    var exact: String { timestamp.exact }

    fileprivate var timestamp: Timestamp { Timestamp(seconds: seconds, nanoseconds: nanoseconds) }
}
