internal import TransferClient
internal import TransferModel

extension PlannedDownload {
    /// The line that is printed without `--json`.
    var line: String {
        let place = source.hasSameBytes(as: path) ? source : "\(source) -> \(path)"
        guard form == .file else { return "would make  \(place.escapedForDisplay)\(form == .folder ? "/" : "")" }
        return "would fetch  \(place.escapedForDisplay)  \(ByteFormat.size(size))"
    }

    /// The download as an object of `--json --dry-run`.
    var json: JSONLine {
        [
            "schema": .string(JSONSchema.plan), "source": .string(source), "destination": .string(path),
            "size": .integer(size), "form": .string(form.rawValue),
        ]
    }
}

extension PullReport {
    /// One line for people.
    ///
    /// - Parameter columns: the width of the terminal; the digest is left out if it does not fit. Nil for no limit.
    func line(colours: Bool, columns: Int? = nil) -> String {
        let place = path.map { $0.hasSameBytes(as: source) ? $0 : "\(source) -> \($0)" } ?? source
        var text = "  \(place.escapedForDisplay)\(form == .folder ? "/" : "")"
        if let digest, result.isSuccess {
            text += "  \(ByteFormat.size(size))"
            let whole = "\(text)  \(digest)"
            if columns.map({ "\(result)\(whole)".displayColumns <= $0 }) ?? true { text = whole }
        } else if !message.isEmpty {
            text += ": \(message.escapedForDisplay)"
        }
        return colour.paint("\(result)", colours) + text
    }

    private var colour: Colour { result.isSuccess ? (result == .skipped ? .yellow : .green) : .red }

    /// The object of `--json`; every member is always present.
    var json: JSONLine {
        [
            "schema": .string(JSONSchema.download), "source": .string(source), "result": .string(result.name),
            "path": path.map { .string($0) } ?? .null,
            "size": .integer(size), "digest": digest.map { .string($0.description) } ?? .null,
            "resumed": .integer(resumed), "seconds": .double(seconds), "message": .string(message),
            "form": .string(form.rawValue),
        ]
    }
}
