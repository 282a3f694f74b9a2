package import TransferModel
package import TransferProtocol

/// What a client says in frames, by the rules of the protocol: what is work for the worker becomes steps of a batch, what can be
/// answered at once is, and the rest is for the session to see to. It neither sends, waits nor works itself.
package struct FrameConversation {
    /// What a message asks of the session.
    package enum Demand {
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

    private var machine = ServerConnection()

    /// For the client, when all that was received is parsed: thousands of pings must not cost a call each.
    private var answers: [UInt8] = []

    package init() {}

    /// Whether an upload is open, accepted or not.
    package var isReceiving: Bool { machine.isReceiving }

    /// Whether every upload that was begun has its result, and every request its answer.
    package var isSettled: Bool { machine.isSettled }

    package mutating func take(_ piece: DataPiece, _ batch: FrameBatch) throws(ProtocolFault) {
        if try machine.receiveData() == .store { batch.append(piece) }
    }

    /// - Parameter isStopping: whether nothing new is taken in.
    package mutating func take(
        _ message: Message, _ batch: FrameBatch, isStopping: @autoclosure () -> Bool
    ) throws(ProtocolFault) -> Demand {
        switch try machine.receive(message) {
        case .welcome(let hello): return .decide(hello)
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
        let result = UploadResult(id: begin.id, code: .shuttingDown, message: "The server is stopping.")
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
