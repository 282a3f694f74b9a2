import TransferClient
import TransferProtocol

extension UploadReport {
    /// One line for people.
    var line: String {
        let path = storedPath.map { $0 == source ? $0 : "\(source) -> \($0)" } ?? source
        var text = "\(result)  \(path.escapedForDisplay)"
        if let digest, result.isSuccess {
            text += "  \(ByteFormat.size(size))  \(digest)"
        } else if !message.isEmpty {
            text += ": \(message.escapedForDisplay)"
        }
        return text
    }

    /// The object of `--json`; every key is always there.
    var json: JSONLine {
        [
            "source": .string(source), "uploadID": .string(uploadID.description), "result": .string(result.name),
            "storedPath": storedPath.map { .string($0) } ?? .null, "kind": .string(kind.name),
            "size": .integer(size), "digest": digest.map { .string($0.description) } ?? .null,
            "durable": .bool(isDurable), "seconds": .double(seconds), "message": .string(message),
        ]
    }
}
