import TransferClassic
import TransferConnection
import TransferIO
import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

/// One receive buffer on its way to the pool, with the steps that were found in it, in order.
///
/// `@unchecked Sendable`: the session fills it, then hands it over and never touches it again.
final class ClassicBatch: StepBatch, @unchecked Sendable {
    /// A step of an upload, or the client's name.
    enum Operation {
        /// The client states its name for the first time.
        case present(String)
        case begin(BegunUpload)
        /// Content; its range in the buffer.
        case content(Range<Int>)
        /// Content that was decoded, and is not in the buffer.
        case decoded([UInt8])
        case end(ClassicEnd)
        case abort
    }

    /// Most steps in one batch, so that a buffer full of empty uploads does not need many times as much memory.
    static let mostOperations = 1024

    /// Bytes of decoded content that end a batch. A few compressed bytes can become a chunk of 48 KiB; without a limit, a buffer full of
    /// them would need hundreds of times as much memory.
    static let mostDecoded = 128 << 10

    /// Cost at which parsing stops, so that other clients have their turn.
    static let mostCost = Transport.bufferSize

    var input: ReceiveBuffer
    private(set) var operations: [Operation] = []
    private var decoded = 0
    /// Cost of parsing so far, in the unit of `WireSession.takeParsingCost`.
    var cost = 0

    init(_ buffer: BlockBuffer, carry: [UInt8]) {
        input = ReceiveBuffer(buffer, carry: carry)
    }

    init(after batch: ClassicBatch) {
        input = batch.input
    }

    var isEmpty: Bool { operations.isEmpty }

    var isComplete: Bool {
        operations.count >= Self.mostOperations || decoded >= Self.mostDecoded || cost >= Self.mostCost
    }

    /// Whether the batch begins an upload, rather than continuing one.
    var hasBeginnings: Bool {
        operations.contains { if case .begin = $0 { true } else { false } }
    }

    func append(_ operation: Operation) {
        if case .decoded(let bytes) = operation { decoded += bytes.count }
        operations.append(operation)
    }

    /// Adds content, whose range counts from the first unparsed byte. Adjacent content is joined, because each piece is one call to the
    /// disk.
    func append(content range: Range<Int>) {
        let placed = input.placed(range)
        if case .content(let last)? = operations.last, last.upperBound == placed.lowerBound {
            operations[operations.count - 1] = .content(last.lowerBound..<placed.upperBound)
        } else {
            operations.append(.content(placed))
        }
    }

    static func content(of operation: Operation) -> Range<Int>? {
        if case .content(let range) = operation { range } else { nil }
    }
}

/// An upload that the client has begun.
struct BegunUpload: Sendable {
    let upload: ClassicUpload

    /// Index among the uploads of the connection.
    let place: Int

    /// Why the upload is refused before its content; nil if there is no reason so far.
    let refusal: Failure?
}

/// The results of the batches of one turn.
struct ClassicOutcome: Sendable {
    /// Results of settled uploads, by place among the uploads of the connection.
    var results: [(place: Int, result: ClassicResult)] = []
    /// Whether the client may have the name that it has stated; nil if that was not decided in this turn.
    var signIn: Result<String, Failure>?
    /// What the worker still has to do with the batches that it has received.
    var left = BatchPipe<ClassicBatch>.Left.nothing
}

extension UploadIntent {
    /// The declarations of a classic client. Two uploads with the same name are separate: without an ID, a retry cannot be distinguished
    /// from other content, so both are kept.
    ///
    /// - Parameters:
    ///   - beginning: first bytes of the content, from which the name is made if none was transmitted.
    ///   - isWhole: whether `beginning` is the whole content.
    init(_ upload: ClassicUpload, id: UploadID, beginning: [UInt8], isWhole: Bool) {
        // Empty content has no format that could be recognised; it is a text if the client says so.
        let isEmptyText = upload.kind == .text && beginning.isEmpty
        let format =
            isEmptyText ? .text : beginning.withUnsafeBytes { ContentFormat(recognising: $0, isWhole: isWhole) }
        // A text is UTF-8; other bytes are stored unchanged, as a file.
        let isText = format.kind == .text || format.kind == .location
        // An upload for a person keeps the kind that its sender stated.
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
    /// Why the upload's name cannot be that of a file; nil if it can, or if no name was transmitted.
    var nameFault: Failure? {
        guard let name, ClassicName.told(name) == nil else { return nil }
        let shown = String(decoding: name.prefix(Limits.pathComponent), as: UTF8.self).escapedForDisplay
        return Failure(
            .invalidPath, "'\(shown)' cannot be the name of a file: it must be a single name in UTF-8, without slashes."
        )
    }
}

extension ClassicResult {
    /// - Parameter path: the path that the client asked for.
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
