import TransferClassic
import TransferConnection
import TransferModel
import TransferProtocol

/// What a client says in a classic framing: bytes become steps of a batch, results become answers in the order of the uploads. It
/// neither sends, waits nor works itself.
///
/// ```
///   between uploads ──begin──► in content ──end, abort──► between uploads
/// ```
///
/// The order of calls: `step` until it needs more, `begin` for each upload that it finds, `takeReplies` behind that; `settled` whenever
/// the pool has results; `lastAnswers` once, at the end.
struct ClassicWire {
    /// What was found, and what it asks of the session.
    enum Demand {
        case needsMore
        case nothing
        /// The client says its name.
        case present(String)
        /// An upload begins: `begin` is to be called.
        case begin(ClassicUpload)
        /// No more of the upload comes.
        case end
        /// The client is done.
        case close
    }

    private var conversation: any ClassicConversation
    private var answers = ClassicAnswers()
    /// For the client, when all that was received is parsed: thousands of signs of life must not cost a call each.
    private var replies: [UInt8] = []
    private var parsingCost = 0
    /// Whether the content of an upload is coming.
    private var isReceiving = false
    /// What the client did wrong, in the words of its framing.
    private var fault: ClassicFault?

    init(_ framing: ClassicFraming) {
        conversation = framing.conversation()
    }

    /// Whether clients can say what the content's SHA-256 is.
    var hasDigests: Bool { conversation.hasDigests }

    /// Uploads without an answer.
    var unanswered: Int { answers.count }

    /// Whether the client is in the middle of an upload, or waits for an answer to one.
    var isOwing: Bool { isReceiving || answers.count > 0 }

    var isBetweenUploads: Bool { !isReceiving && conversation.isBetweenMessages }

    /// Takes the next step from what is unparsed.
    mutating func step(_ batch: ClassicBatch) throws(ProtocolFault) -> Demand {
        let progress = try next(batch)
        let cost = Self.cost(of: progress.step)
        batch.cost += cost
        parsingCost += cost
        defer { batch.consumed(progress.consumed) }
        switch progress.step {
        case .needsMore: return .needsMore
        case .nothing: break
        case .present(let name): return .present(name)
        case .begin(let upload): return .begin(upload)
        case .content(let range): batch.append(content: range)
        case .decoded(let bytes): batch.append(.decoded(bytes))
        case .end(let end): return finish(.end(end), batch)
        case .abort: return finish(.abort, batch)
        case .reply(let bytes): replies += bytes
        case .close: return .close
        }
        return .nothing
    }

    private mutating func finish(_ operation: ClassicBatch.Operation, _ batch: ClassicBatch) -> Demand {
        batch.append(operation)
        isReceiving = false
        return .end
    }

    /// An upload begins.
    ///
    /// - Parameter refusal: why it is not taken, as far as that is known before its content.
    mutating func begin(_ upload: ClassicUpload, _ batch: ClassicBatch, refusal: Failure?) {
        batch.append(.begin(BegunUpload(upload: upload, place: answers.began(upload), refusal: refusal)))
        isReceiving = true
    }

    private mutating func next(_ batch: ClassicBatch) throws(ProtocolFault) -> ClassicProgress {
        do throws(ClassicFault) {
            return try conversation.next(batch.unparsed.bytes)
        } catch {
            throw broken(error)
        }
    }

    /// - Returns: the same, as what is thrown.
    mutating func broken(_ fault: ClassicFault) -> ProtocolFault {
        self.fault = fault
        return ProtocolFault(fault.code, fault.message)
    }

    /// Bytes that could be received for as much work. A message of some bytes can be 16 KiB of JSON when it is inflated, and one
    /// with content, or that is skipped, 128 KiB; none of it takes longer to read than a string of that length.
    private static func cost(of step: ClassicStep) -> Int {
        switch step {
        case .needsMore, .content: 0
        case .begin, .end, .abort, .close: 2 << 10
        case .decoded, .nothing, .present, .reply: 16 << 10
        }
    }

    mutating func takeParsingCost() -> Int {
        defer { parsingCost = 0 }
        return parsingCost
    }

    mutating func takeReplies() -> [UInt8] {
        defer { replies = [] }
        return replies
    }

    /// Uploads have their results.
    ///
    /// - Returns: the answers that can be sent now.
    mutating func settled(_ results: [(place: Int, result: ClassicResult)]) -> [UInt8] {
        for (place, result) in results { answers.settled(place, result) }
        var bytes: [UInt8] = []
        for (upload, result) in answers.take() { bytes += conversation.answer(to: upload, result) }
        return bytes
    }

    /// Says why there is no more: about what the client did wrong, or else as the answer to each upload that has none.
    mutating func lastAnswers(for fault: ProtocolFault) -> [UInt8] {
        let rest = self.fault == nil ? answers.takeRest() : []
        guard !rest.isEmpty else {
            return conversation.answer(to: self.fault ?? ClassicFault(fault.code, fault.message))
        }
        let result = ClassicResult(fault.code, message: fault.message)
        return rest.flatMap { conversation.answer(to: $0, result) }
    }
}

/// The answers that a classic client waits for, in the order of its uploads: some clients tell them apart by nothing else.
struct ClassicAnswers {
    /// Uploads without an answer, the oldest first.
    private var waiting: [ClassicUpload] = []
    /// The place of the first of them among the uploads of the connection.
    private var first = 0
    /// Results of those that others have to be answered before, by their places.
    private var early: [Int: ClassicResult] = [:]

    /// Uploads without an answer.
    var count: Int { waiting.count }

    /// - Returns: the upload's place.
    mutating func began(_ upload: ClassicUpload) -> Int {
        waiting.append(upload)
        return first + waiting.count - 1
    }

    mutating func settled(_ place: Int, _ result: ClassicResult) { early[place] = result }

    /// Those that can be answered now, in order.
    mutating func take() -> [(upload: ClassicUpload, result: ClassicResult)] {
        var ready: [(upload: ClassicUpload, result: ClassicResult)] = []
        while ready.count < waiting.count, let result = early.removeValue(forKey: first + ready.count) {
            ready.append((waiting[ready.count], result))
        }
        waiting.removeFirst(ready.count)
        first += ready.count
        return ready
    }

    /// Those that have no result and will have none.
    mutating func takeRest() -> [ClassicUpload] {
        defer {
            first += waiting.count
            waiting = []
        }
        return waiting
    }
}
