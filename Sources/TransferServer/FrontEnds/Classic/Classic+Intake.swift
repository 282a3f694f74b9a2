import TransferClassic
import TransferIntake
import TransferModel
import TransferStore
import TransferSystem

extension UploadIntent {
    /// What a classic client declares. Two uploads of one name are two: no id tells a retry from other content, so both are
    /// kept.
    ///
    /// - Parameters:
    ///   - beginning: of the content, by which a name is made where none travels.
    ///   - isWhole: whether that is all of it.
    init(_ upload: ClassicUpload, id: UploadID, beginning: [UInt8], isWhole: Bool) {
        // Nothing speaks against that it is what the client says.
        let isEmptyText = upload.kind == .text && beginning.isEmpty
        let format =
            isEmptyText ? .text : beginning.withUnsafeBytes { ContentFormat(recognising: $0, isWhole: isWhole) }
        // A text is UTF-8; other bytes are kept as they are, as a file.
        let isText = format.kind == .text || format.kind == .location
        // What is for somebody goes on as what its sender calls it.
        let recipients = upload.recipient.map { [$0] } ?? []
        let isFile = upload.kind == .text && !isText && recipients.isEmpty
        let kind = isFile ? ContentKind.file : upload.kind ?? format.kind
        let made = ClassicName.made(
            kind: kind, time: Timestamp(seconds: utcNanoseconds() / 1_000_000_000, nanoseconds: 0),
            sender: upload.sender,
            mark: UInt32(UInt16.random(in: .min ... .max)), format: format)
        let told = upload.name.flatMap { ClassicName.told($0) }
        self.init(
            id: id, path: told?.string ?? made, size: upload.size, kind: kind, conflict: .keepBoth,
            recipients: recipients)
    }
}

extension ClassicUpload {
    /// Why its name cannot be that of a file; nothing where none came with it.
    var nameFault: Failure? {
        guard let name, ClassicName.told(name) == nil else { return nil }
        let shown = String(decoding: name.prefix(Limits.pathComponent), as: UTF8.self).escapedForDisplay
        return Failure(.invalidPath, "'\(shown)' cannot be the name of a file: it has to be one name in UTF-8.")
    }
}

extension ClassicResult {
    /// - Parameter path: that the client asked for.
    init(_ outcome: UploadOutcome, askedFor path: String, by caller: Caller) {
        var stored = path
        if case .acknowledged(let acknowledgement) = outcome {
            stored = caller.clientPath(acknowledgement.path)?.string ?? path
        }
        let message = caller.redacted(outcome.message)
        let isStored = if case .acknowledged = outcome { true } else { false }
        let name = stored.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) }
        self.init(
            outcome.code, path: isStored ? stored : nil, message: message.isEmpty ? nil : message, name: name)
    }
}
