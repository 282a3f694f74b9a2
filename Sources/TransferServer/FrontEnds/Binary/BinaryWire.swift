package import TransferAccess
package import TransferConnection
package import TransferIO
import TransferIntake
package import TransferModel
package import TransferProtocol

/// What a client says in frames, by the rules of the protocol: what is work for the pool becomes steps of a batch, what can be
/// answered at once is, and the rest is for the session to see to. It neither sends, waits nor works itself.
///
/// ```
///   greeting ──hello──► undecided ──decided──► decided
/// ```
///
/// The order of calls: `step` until it needs more, `takeAnswers` behind that; `settled` and `answered` whenever the pool has results.
package struct BinaryWire {
    /// What was found, and what it asks of the session.
    package enum Demand {
        /// More bytes are needed for the next frame.
        case needsMore
        /// A piece of content; whether it stands for zeros that did not travel.
        case content(isHole: Bool)
        /// Decide whether this client may come in, and look at nothing else before.
        case decide(Hello)
        /// An upload has begun, whose size may be known.
        case begun(isSized: Bool)
        /// The client wants to know what there is of uploads.
        case asked
        case answer(Request)
        case cancel(UInt32)
        /// The client is done.
        case close
        case nothing
    }

    private enum Greeting {
        case awaited
        /// The client has said who it is, and the server has not said whether it may come in.
        case undecided(Hello)
        case decided
    }

    private var parser = FrameParser()
    private var machine = ServerConnection()
    private var greeting = Greeting.awaited

    /// For the client, when all that was received is parsed: thousands of pings must not cost a call each.
    private var answers: [UInt8] = []

    package init() {}

    /// What the client says of itself, as long as that is not decided.
    package var undecided: Hello? { if case .undecided(let hello) = greeting { hello } else { nil } }

    /// Whether the client was let in, or turned away.
    package var isDecided: Bool { if case .decided = greeting { true } else { false } }

    /// Whether an upload is open, accepted or not.
    package var isReceiving: Bool { machine.isReceiving }

    /// Whether the client says nothing that it has not said whole, and has no upload open.
    package var isBetweenUploads: Bool { !isReceiving && parser.isBetweenFrames }

    /// Whether every upload that was begun has its result, and every request its answer.
    package var isSettled: Bool { machine.isSettled }

    /// The session has said whether the client may come in.
    package mutating func decided() { greeting = .decided }

    /// Takes the next frame, or piece of one, from what is unparsed.
    ///
    /// - Parameter isStopping: whether nothing new is taken in.
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
            // Whether it is some of an upload that was under way, the worker knows.
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

    /// Uploads have their results.
    package mutating func settled(_ ids: [UploadID]) {
        for id in ids { machine.settled(id) }
    }

    /// Requests have their whole answers.
    package mutating func answered(_ ids: [UInt32]) {
        for id in ids { machine.answered(id) }
    }
}

/// One receive buffer on its way to the pool, with what was found in it, in order.
///
/// `@unchecked Sendable`: the session fills it, then hands it over and never touches it again.
package final class BinaryBatch: StepBatch, @unchecked Sendable {
    /// A step of an upload; data lies in the buffer.
    package enum Operation {
        case begin(Begin)
        case resume(Begin)
        case lookup(Lookup)
        case data(DataPiece)
        case block(BlockDigest)
        case end(End)
        case abort
    }

    /// Steps in one batch at most. The smallest frame has 7 bytes, so without a bound a buffer full of them would become
    /// thirty times as much memory; this many are 128 KiB.
    static let mostOperations = 1024

    /// Bytes of holes in one batch at most, and of one frame: each is digested, whatever it has taken to send. A client that sends
    /// nothing else is not read while eight batches of them wait.
    static let mostHoles = 64 << 20

    package var input: ReceiveBuffer
    package var operations: [Operation] = []
    /// Bytes that its holes stand for.
    private var holes = 0

    package init(_ buffer: BlockBuffer, carry: [UInt8]) {
        input = ReceiveBuffer(buffer, carry: carry)
    }

    package init(after batch: BinaryBatch) {
        input = batch.input
    }

    package var isEmpty: Bool { operations.isEmpty }

    package var isComplete: Bool { operations.count >= Self.mostOperations || holes >= Self.mostHoles }

    /// Whether it has more than content of what has begun before.
    package var hasBeginnings: Bool {
        operations.contains { operation in
            switch operation {
            case .begin, .resume, .lookup: true
            case .data, .block, .end, .abort: false
            }
        }
    }

    /// Adds a piece whose range counts from the first unparsed byte. What of one frame came in several pieces becomes one
    /// again: each is a call to the disk.
    func append(_ piece: DataPiece) {
        var placed = piece
        placed.range = input.placed(piece.range)
        // One that is none ends its upload before it costs anything.
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

/// What came of a batch: frames for the client and uploads that have their result now.
package struct WorkerOutcome: Sendable {
    package var frames: [UInt8] = []
    package var settled: [UploadID] = []
    /// Whether an upload in parts is over: another connection may have waited for that.
    var hasEndedMultipart = false
    /// What the worker has left to do of what it has already.
    package var left = BatchPipe<BinaryBatch>.Left.nothing
    /// Why the client may begin nothing any more.
    package var refusal: Refusal?
}
