import TransferClassic
import TransferConnection
import TransferModel
import TransferProtocol

/// The server's side of a classic framing, used by `ClassicSession`: turns a client's bytes into steps of a batch, and results into answers
/// in the order of the uploads. It neither sends, waits nor works itself.
///
/// ```
///   between uploads ──begin──► in content ──end, abort──► between uploads
/// ```
///
/// Order of calls: `step` until it needs more, `begin` for each upload that it finds, then `takeReplies`; `settled` whenever the pool has
/// results; `lastAnswers` once, at the end.
struct ClassicWire {
    /// What the last message, or piece of a message, asks of the session.
    enum Demand {
        case needsMore
        case nothing
        /// The client states its name.
        case present(String)
        /// An upload begins; the session has to call `begin`.
        case begin(ClassicUpload)
        /// The upload has no further content.
        case end
        /// The client has said goodbye.
        case close
    }

    private var conversation: any ClassicConversation
    private var answers = ClassicAnswers()
    /// Bytes for the client. They are sent when all received bytes are parsed: thousands of heartbeats must not cost a system call each.
    private var replies: [UInt8] = []
    private var parsingCost = 0
    /// Whether an upload is open, whose content follows.
    private var isReceiving = false
    /// The client's violation of the framing, for an answer in that framing.
    private var fault: ClassicFault?

    init(_ framing: ClassicFraming) {
        conversation = framing.conversation()
    }

    /// Whether clients may state the SHA-256 of the content.
    var hasDigests: Bool { conversation.hasDigests }

    /// Number of uploads without an answer.
    var unanswered: Int { answers.count }

    /// Whether the client is in the middle of an upload, or waits for an answer to one.
    var isOwing: Bool { isReceiving || answers.count > 0 }

    var isBetweenUploads: Bool { !isReceiving && conversation.isBetweenMessages }

    /// Takes the next step from the unparsed bytes.
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

    /// Begins an upload.
    ///
    /// - Parameter refusal: why the upload is refused before its content; nil if there is no reason so far.
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

    /// Keeps the fault for the last answer.
    ///
    /// - Returns: the fault to throw.
    mutating func broken(_ fault: ClassicFault) -> ProtocolFault {
        self.fault = fault
        return ProtocolFault(fault.code, fault.message)
    }

    /// Bytes whose receiving would cost as much work as the step. A short message can inflate to 16 KiB of JSON; with content, or if it is
    /// skipped, to 128 KiB. Parsing takes no longer than reading a string of that length.
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

    /// Notes the results of uploads.
    ///
    /// - Returns: the answers that can be sent now.
    mutating func settled(_ results: [(place: Int, result: ClassicResult)]) -> [UInt8] {
        for (place, result) in results { answers.settled(place, result) }
        var bytes: [UInt8] = []
        for (upload, result) in answers.take() { bytes += conversation.answer(to: upload, result) }
        return bytes
    }

    /// The last bytes for the client. If it broke the rules of the framing, that is the answer to this fault. If not, each unanswered
    /// upload gets an answer with the fault; without such uploads, the connection gets one.
    mutating func lastAnswers(for fault: ProtocolFault) -> [UInt8] {
        let rest = self.fault == nil ? answers.takeRest() : []
        guard !rest.isEmpty else {
            return conversation.answer(to: self.fault ?? ClassicFault(fault.code, fault.message))
        }
        let result = ClassicResult(fault.code, message: fault.message)
        return rest.flatMap { conversation.answer(to: $0, result) }
    }
}

/// The answers that a client waits for, in the order in which it began the uploads: some clients match them by order alone.
struct ClassicAnswers {
    /// Uploads without an answer, the oldest first.
    private var waiting: [ClassicUpload] = []
    /// Place of the oldest of them among the uploads of the connection.
    private var first = 0
    /// Results of uploads that have to wait for the answer to an earlier one, by place.
    private var early: [Int: ClassicResult] = [:]

    /// Number of uploads without an answer.
    var count: Int { waiting.count }

    /// - Returns: the upload's place among the uploads of the connection.
    mutating func began(_ upload: ClassicUpload) -> Int {
        waiting.append(upload)
        return first + waiting.count - 1
    }

    mutating func settled(_ place: Int, _ result: ClassicResult) { early[place] = result }

    /// Removes and returns the uploads that can be answered now, in order.
    mutating func take() -> [(upload: ClassicUpload, result: ClassicResult)] {
        var ready: [(upload: ClassicUpload, result: ClassicResult)] = []
        while ready.count < waiting.count, let result = early.removeValue(forKey: first + ready.count) {
            ready.append((waiting[ready.count], result))
        }
        waiting.removeFirst(ready.count)
        first += ready.count
        return ready
    }

    /// Removes and returns the uploads that will have no result.
    mutating func takeRest() -> [ClassicUpload] {
        defer {
            first += waiting.count
            waiting = []
        }
        return waiting
    }
}
