package import TransferAccess
package import TransferConnection
package import TransferIO
import TransferIntake
package import TransferModel
package import TransferProtocol

/// The server's side of the binary protocol, used by `BinarySession`: turns a client's frames into steps of a batch for the pool, answers
/// at once what needs no work, and hands the rest to the session as a `Demand`. It neither sends, waits nor works itself.
///
/// ```
///   greeting ──hello──► undecided ──decided──► decided
/// ```
///
/// Order of calls: `step` until it needs more, then `takeAnswers`; `settled` and `answered` whenever the pool has results.
package struct BinaryWire {
    /// What the last frame, or piece of a frame, asks of the session.
    package enum Demand {
        /// More bytes are needed for the next frame.
        case needsMore
        /// A piece of content. It can be a hole: zeros that were not transmitted.
        case content(isHole: Bool)
        /// Decide whether this client may connect, before any further frame is parsed.
        case decide(Hello)
        /// An upload has begun; its size can be unknown.
        case begun(isSized: Bool)
        /// The client asks what the server has of uploads (`resume` or `lookup`).
        case asked
        case answer(Request)
        case cancel(UInt32)
        /// The client has said goodbye.
        case close
        case nothing
    }

    private enum Greeting {
        case awaited
        /// The client has sent `hello`, and the server has not decided yet.
        case undecided(Hello)
        case decided
    }

    private var parser = FrameParser()
    private var machine = ServerConnection()
    private var greeting = Greeting.awaited

    /// Bytes for the client. They are sent when all received bytes are parsed: thousands of pings must not cost a system call each.
    private var answers: [UInt8] = []

    package init() {}

    /// The client's `hello`, until it is decided whether the client may connect.
    package var undecided: Hello? { if case .undecided(let hello) = greeting { hello } else { nil } }

    /// Whether the client was admitted or refused.
    package var isDecided: Bool { if case .decided = greeting { true } else { false } }

    /// Whether an upload is open, no matter whether it was accepted or refused.
    package var isReceiving: Bool { machine.isReceiving }

    /// Whether no upload is open, and no frame is incomplete.
    package var isBetweenUploads: Bool { !isReceiving && parser.isBetweenFrames }

    /// Whether every upload that was begun has its result, and every request its answer.
    package var isSettled: Bool { machine.isSettled }

    /// Notes that the session has decided whether the client may connect.
    package mutating func decided() { greeting = .decided }

    /// Takes the next frame, or piece of a frame, from the unparsed bytes.
    ///
    /// - Parameter isStopping: whether nothing new is accepted.
    package mutating func step(
        _ batch: BinaryBatch, isStopping: @autoclosure () -> Bool
    ) throws(ProtocolFault) -> Demand {
        let bytes = batch.unparsed
        guard !bytes.isEmpty else { return .needsMore }
        switch try parser.next(bytes.bytes) {
        case .needsMore: return .needsMore
        case .message(let message, let consumed):
            batch.consumed(consumed)
            return try take(message, batch, isStopping: isStopping())
        case .data(let piece, let consumed):
            try take(piece, batch)
            batch.consumed(consumed)
            return .content(isHole: piece.encoding == .hole)
        }
    }

    /// - Parameter piece: its range counts from the first unparsed byte.
    package mutating func take(_ piece: DataPiece, _ batch: BinaryBatch) throws(ProtocolFault) {
        if try machine.receiveData() == .store { batch.append(piece) }
    }

    package mutating func take(
        _ message: Message, _ batch: BinaryBatch, isStopping: @autoclosure () -> Bool
    ) throws(ProtocolFault) -> Demand {
        switch try machine.receive(message) {
        case .welcome(let hello):
            greeting = .undecided(hello)
            return .decide(hello)
        case .begin(let begin):
            // Only the worker knows whether this part or end belongs to an upload that is under way.
            guard begin.scope != .whole || !isStopping() else { return refuse(begin) }
            batch.operations.append(.begin(begin))
            return .begun(isSized: begin.size != nil)
        case .resume(let begin):
            guard !isStopping() else { return refuse(begin) }
            batch.operations.append(.resume(begin))
            return .asked
        case .lookup(let lookup):
            guard !isStopping() else { return refuse(lookup) }
            batch.operations.append(.lookup(lookup))
            return .asked
        case .block(let block): batch.operations.append(.block(block))
        case .end(let end): batch.operations.append(.end(end))
        case .abort: batch.operations.append(.abort)
        case .request(let request): return .answer(request)
        case .cancel(let id): return .cancel(id)
        case .reply(let reply): reply.encode(into: &answers)
        case .close: return .close
        case .nothing: break
        }
        return .nothing
    }

    private mutating func refuse(_ begin: Begin) -> Demand {
        machine.settled(begin.id)
        let result = UploadResult(id: begin.id, code: .shuttingDown, message: Failure.serverStopping.message)
        Message.result(result).encode(into: &answers)
        return .nothing
    }

    private mutating func refuse(_ lookup: Lookup) -> Demand {
        for id in lookup.ids { machine.settled(id) }
        Message.unknown(lookup.ids).encode(into: &answers)
        return .nothing
    }

    package mutating func takeAnswers() -> [UInt8] {
        defer { answers = [] }
        return answers
    }

    /// Notes that uploads have their results.
    package mutating func settled(_ ids: [UploadID]) {
        for id in ids { machine.settled(id) }
    }

    /// Notes that requests have their complete answers.
    package mutating func answered(_ ids: [UInt32]) {
        for id in ids { machine.answered(id) }
    }
}

/// One receive buffer on its way to the pool, with the steps that were found in it, in order.
///
/// `@unchecked Sendable`: the session fills it, then hands it over and never touches it again.
package final class BinaryBatch: StepBatch, @unchecked Sendable {
    /// A step of an upload; the content of `data` is in the buffer.
    package enum Operation {
        case begin(Begin)
        case resume(Begin)
        case lookup(Lookup)
        case data(DataPiece)
        case block(BlockDigest)
        case end(End)
        case abort
    }

    /// Most steps in one batch. The smallest frame has 7 bytes, so without a limit a buffer full of them would need thirty times as much
    /// memory; 1024 steps need 128 KiB.
    static let mostOperations = 1024

    /// Bytes of holes after which a batch is complete; its last frame may exceed this. The server digests each of these bytes, although
    /// none was transmitted. A client that sends only holes is not read while eight such batches wait.
    static let mostHoles = 64 << 20

    package var input: ReceiveBuffer
    package var operations: [Operation] = []
    /// Bytes of holes in the batch.
    private var holes = 0

    package init(_ buffer: BlockBuffer, carry: [UInt8]) {
        input = ReceiveBuffer(buffer, carry: carry)
    }

    package init(after batch: BinaryBatch) {
        input = batch.input
    }

    package var isEmpty: Bool { operations.isEmpty }

    package var isComplete: Bool { operations.count >= Self.mostOperations || holes >= Self.mostHoles }

    /// Whether the batch begins or asks for an upload, rather than continuing one.
    package var hasBeginnings: Bool {
        operations.contains { operation in
            switch operation {
            case .begin, .resume, .lookup: true
            case .data, .block, .end, .abort: false
            }
        }
    }

    /// Adds a piece, whose range counts from the first unparsed byte. Pieces of one frame are joined again, because each is one call to the
    /// disk.
    func append(_ piece: DataPiece) {
        var placed = piece
        placed.range = input.placed(piece.range)
        // A malformed hole does not count: it ends its upload before it costs anything.
        if placed.encoding == .hole, let hole = try? Hole(bytes(placed)) { holes += hole.count }
        if case .data(let last)? = operations.last, let joined = last.joined(with: placed) {
            operations[operations.count - 1] = .data(joined)
        } else {
            operations.append(.data(placed))
        }
    }

    private func bytes(_ piece: DataPiece) -> UnsafeRawBufferPointer { input.bytes(piece.range) }

    package static func content(of operation: Operation) -> Range<Int>? {
        if case .data(let piece) = operation { piece.range } else { nil }
    }
}

/// The results of a batch: frames for the client, and the uploads that are settled now.
package struct WorkerOutcome: Sendable {
    package var frames: [UInt8] = []
    package var settled: [UploadID] = []
    /// Whether a multipart upload has ended; another connection can be waiting for that.
    var hasEndedMultipart = false
    /// What the worker still has to do with the batches that it has received.
    package var left = BatchPipe<BinaryBatch>.Left.nothing
    /// Why the client may begin nothing any more; nil if it may.
    package var refusal: Refusal?
}
