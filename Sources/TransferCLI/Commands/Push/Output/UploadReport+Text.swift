import TransferClient
import TransferModel

extension UploadReport {
    /// The line without colours, as wide as it is.
    var line: String { line(colours: false) }

    /// One line for people.
    ///
    /// - Parameter columns: the width of the terminal; the digest is left out if it does not fit. Nil for no limit.
    func line(colours: Bool, columns: Int? = nil) -> String {
        let path = storedPath.map { $0.hasSameBytes(as: source) ? $0 : "\(source) -> \($0)" } ?? source
        var text = "  \(path.escapedForDisplay)\(form == .folder ? "/" : "")"
        if !recipients.isEmpty {
            text += "  \(isSealed ? "sealed " : "")for \(recipients.joined(separator: ", ").escapedForDisplay)"
        }
        if hasReplaced, result.isSuccess { text += "  in place of other content" }
        if let digest, result.isSuccess {
            text += "  \(ByteFormat.size(size))\(picture.map { "  \($0.line)" } ?? "")"
            let whole = "\(text)  \(digest)"
            if columns.map({ "\(result)\(whole)".displayColumns <= $0 }) ?? true { text = whole }
        } else {
            if !message.isEmpty { text += ": \(message.escapedForDisplay)" }
            if attempts > 1 { text += " It was tried \(attempts) times." }
            if let advice { text += " \(advice)" }
        }
        return colour.paint("\(result)", colours) + text
    }

    /// Advice that the server's message does not contain.
    private var advice: String? {
        switch result {
        case .insufficientStorage: "Push it again when there is room on the server's disk."
        case .quotaExceeded: "Ask the server's operator to raise the quota, and push it again."
        case .storageFailed: "The server's log says more."
        case .contentLost: "'transfer verify' on the server lists the files that are."
        case .unacknowledged: "Check the server before you push it again."
        case .uploadTooLarge: "Ask the server's operator to raise the limit."
        case .invalidPath: "Rename it, and push it again."
        case .pathConflict where form == .folder: "Something else than a folder has its path there."
        case .pathConflict: "To store both, push it with --on-conflict keep-both."
        case .busy, .timedOut: "Push it again later."
        default: nil
        }
    }

    private var colour: Colour { result.isSuccess ? (result == .skipped ? .yellow : .green) : .red }

    /// The object of `--json`.
    ///
    /// - Parameter removal: what happened to the source; nil without `--delete-source`.
    func json(_ removal: SourceRemoval? = nil) -> JSONLine {
        var line = UploadDocument(
            source: source, id: uploadID, result: result, storedPath: storedPath, kind: kind, size: size,
            digest: digest, isVerified: isVerified, isDurable: isDurable, isReplacing: hasReplaced, seconds: seconds,
            attempts: attempts, recipients: recipients,
            picture: picture.map {
                UploadDocument.Picture(format: $0.format.rawValue, width: $0.width, height: $0.height)
            },
            isSealed: isSealed, isSourceDeleted: removal == .removed, message: message
        ).json
        line.append("form", .string(form.rawValue))
        line.append("trash", trash.map { .string($0.name) } ?? .null)
        if let check { line.append("picture", .object(check.json)) }
        return line
    }
}

extension PictureCheck {
    fileprivate var json: JSONLine {
        let isDecoded: JSONValue =
            switch verdict {
            case .whole: .bool(true)
            case .damaged: .bool(false)
            case .undecodable, .unanswered: .null
            }
        return [
            "decoded": isDecoded, "format": format.map { .string($0) } ?? .null,
            "width": width.map { .integer($0) } ?? .null, "height": height.map { .integer($0) } ?? .null,
            "taken": taken.map { .string($0) } ?? .null, "reason": reason.map { .string($0) } ?? .null,
        ]
    }
}

extension KnownFolder {
    /// The line that is printed without `--json`.
    func line(colours: Bool) -> String {
        let path = storedPath.hasSameBytes(as: source) ? source : "\(source) -> \(storedPath)"
        let result = Colour.green.paint("\(ResultCode.alreadyStored)", colours)
        return "\(result)  \(path.escapedForDisplay)/  \(files) files, \(ByteFormat.size(bytes))"
    }
}

extension Picture {
    /// Format and size, such as `PNG 640x480`.
    var line: String {
        let name =
            switch format {
            case .png: "PNG"
            case .jpeg: "JPEG"
            case .gif: "GIF"
            case .webp: "WebP"
            }
        return "\(name) \(width)x\(height)"
    }
}
