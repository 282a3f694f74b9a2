import TransferClassic
import TransferConnection
import TransferIO
import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

/// One receive buffer on its way to the pool, with what a classic client has said in it, in order.
///
/// `@unchecked Sendable`: the session fills it, then hands it over and never touches it again.
final class ClassicBatch: StepBatch, @unchecked Sendable {
    /// A step of an upload, or what comes before one.
    enum Operation {
        /// The client says its name, for the first time.
        case present(String)
        case begin(BegunUpload)
        /// Content, as it lies in the buffer.
        case content(Range<Int>)
        /// Content that did not travel as it is.
        case decoded([UInt8])
        case end(ClassicEnd)
        case abort
    }

    /// Steps in one batch at most, so that a buffer full of empty uploads does not become many times as much memory.
    static let mostOperations = 1024

    /// Bytes of decoded content after which a batch takes no more. A few compressed bytes can become a chunk of 48 KiB; without
    /// a bound a buffer full of them would become hundreds of times as much memory.
    static let mostDecoded = 128 << 10

    /// Where parsing stops for others to have their turn.
    static let mostCost = Transport.bufferSize

    var input: ReceiveBuffer
    private(set) var operations: [Operation] = []
    private var decoded = 0
    /// What parsing has cost, as `WireSession.takeParsingCost` counts it.
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

    /// Whether it has more than content of what has begun before.
    var hasBeginnings: Bool {
        operations.contains { if case .begin = $0 { true } else { false } }
    }

    func append(_ operation: Operation) {
        if case .decoded(let bytes) = operation { decoded += bytes.count }
        operations.append(operation)
    }

    /// Adds content whose range counts from the first unparsed byte. What comes right behind other content becomes one piece
    /// with it: each is a call to the disk.
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

/// An upload that a classic client has begun.
struct BegunUpload: Sendable {
    let upload: ClassicUpload

    /// Among the uploads of the connection.
    let place: Int

    /// Why it is not taken, as far as that is known before its content.
    let refusal: Failure?
}

/// What came of batches.
struct ClassicOutcome: Sendable {
    /// Uploads that have their result now, by their places among those of the connection.
    var results: [(place: Int, result: ClassicResult)] = []
    /// Whether the client may have the name that it has said.
    var signIn: Result<String, Failure>?
    /// What the worker has left to do of what it has already.
    var left = BatchPipe<ClassicBatch>.Left.nothing
}

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
