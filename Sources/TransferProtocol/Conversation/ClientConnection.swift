package import TransferModel

/// The client's side of one connection: what each frame of the server means now. Sans-IO.
///
/// ```
///   greeting ──welcome──► open ──goodbye──► leaving
///      └────────result about the connection──► closed ◄─┘
/// ```
///
/// Uploads may begin while still greeting, within the baseline limits, so that a small push costs no round trip.
package struct ClientConnection: Sendable {
    private enum State {
        case greeting
        case open
        /// The server takes no more uploads but still answers those begun.
        case leaving
        case closed
    }

    private var state = State.greeting
    /// Uploads without a result, and those that were asked about and have no answer.
    private var begun: Set<UploadID> = []
    /// With the first block that `have` may still name.
    private var asked: [UploadID: UInt64] = [:]
    /// Uploads that were begun and admitted, and have no result.
    private var accepted: Set<UploadID> = []
    /// Those that were looked up and have no answer.
    private var lookedUp: Set<UploadID> = []
    /// Acknowledgements whose receipts have yet to come; their uploads count as not acknowledged.
    private var owed = 0
    private let wantsReceipts: Bool
    /// How content may be compressed that comes.
    private let encodings: Set<BodyEncoding>
    private var answers = Answers()
    /// Whether the server was asked to tell of what arrives.
    private var watches = false

    /// Whether `welcome` has arrived.
    package private(set) var isWelcomed = false

    /// Uploads that may be begun without a result: the baseline until the server says otherwise.
    package private(set) var unacknowledgedLimit = Limits.unacknowledgedUploads

    /// - Parameter features: what `hello` says.
    package init(features: Features = []) {
        wantsReceipts = features.contains(.receipts)
        encodings = features.encodings
    }

    /// What a message means for the client.
    package enum Action: Equatable, Sendable {
        case welcomed(Welcome)
        /// The upload was admitted: send its data.
        case accepted(UploadID)
        /// The server has some of an upload that was asked about; `accepted` follows.
        case found(Have)
        case progress(UploadID, bytes: UInt64)
        case finished(UploadResult)
        /// As `finished`, but the receipt of the acknowledgement has yet to come; they come in the order of the results.
        case acknowledged(UploadResult)
        /// Those of the first acknowledgements that have none.
        case receipts(SignedBatch)
        /// An upload that was looked up has its acknowledgement already.
        case known(UploadResult)
        /// These have none: what they are has to be sent.
        case unknown([UploadID])
        /// Of the first request that has no whole answer: some of a list.
        case entries(Entries)
        case persons(Persons)
        case deliveries(Deliveries)
        /// There are deliveries up to this number.
        case arrived(UInt64)
        /// Its content follows.
        case file(FetchedFile)
        case block(BlockDigest)
        /// All of the content has come; the request is answered.
        case fetched(End)
        /// The request is answered.
        case outcome(Outcome)
        /// Send this back.
        case reply(Message)
        /// The server takes no more uploads on this connection.
        case leaving(Goodbye)
        /// The server ends the connection and says why.
        case refused(UploadResult)
        case nothing

        /// Whether it answers what was asked or sent, or some of that. What a server can repeat for ever without ending anything does
        /// not: signs of life, news, progress, and lists with nothing in them.
        package var isAnswer: Bool {
            switch self {
            case .accepted, .found, .finished, .acknowledged, .receipts, .known, .unknown, .file, .fetched,
                .outcome:
                true
            case .entries(let entries): !entries.entries.isEmpty
            case .persons(let persons): !persons.persons.isEmpty
            case .deliveries(let deliveries): !deliveries.deliveries.isEmpty
            case .block, .progress, .welcomed, .arrived, .reply, .leaving, .refused, .nothing: false
            }
        }
    }

    /// How many more uploads may begin now.
    package var allowance: Int {
        switch state {
        case .greeting, .open: max(0, unacknowledgedLimit - begun.count - owed)
        case .leaving, .closed: 0
        }
    }

    /// Uploads that were looked up and have no answer.
    package var lookups: Int { lookedUp.count }

    /// Whether every upload that was begun has its result, and its receipt, and every request its answer.
    package var isSettled: Bool { begun.isEmpty && owed == 0 && answers.isEmpty }

    /// Whether a request may be sent now. Not before `welcome` says that the server knows requests.
    package func allows(_ request: Request) -> Bool {
        if case .open = state { answers.allows(request) } else { false }
    }

    /// A request is on its way.
    package mutating func requested(_ request: Request) {
        answers.add(request)
        if case .mail(let mail) = request, mail.watches { watches = true }
    }

    /// A piece of data has come.
    ///
    /// - Parameter bytes: of it, as it travelled.
    /// - Throws: `unexpectedFrame` unless it belongs to an answer and is encoded as `hello` says that it may be; the
    ///   connection must end.
    package mutating func receiveData(_ encoding: BodyEncoding, _ bytes: Int) throws(ProtocolFault) {
        guard encoding == .stored || encodings.contains(encoding) else {
            throw ProtocolFault(.unexpectedFrame, "The server compresses with \(encoding), which was not asked for.")
        }
        try answers.receiveData(bytes)
    }

    /// An upload's `begin` is on its way. A server refuses an id that has no result yet, so two of them are none of this
    /// side's business.
    package mutating func began(_ id: UploadID) {
        begun.insert(id)
    }

    /// A question about an upload is on its way; it is answered by `accepted` or `finished`.
    package mutating func asked(_ id: UploadID) {
        began(id)
        asked[id] = 0
    }

    /// A lookup is on its way; each of its uploads is answered by `known` or `unknown`.
    package mutating func lookedUp(_ ids: some Sequence<UploadID>) {
        for id in ids {
            began(id)
            lookedUp.insert(id)
        }
    }

    /// - Throws: `unexpectedFrame` or `malformedFrame`; the connection must end.
    package mutating func receive(_ message: Message) throws(ProtocolFault) -> Action {
        switch (message, state) {
        case (_, .closed): throw ProtocolFault(.unexpectedFrame, "The server sent more after it ended the connection.")
        case (.welcome(let welcome), .greeting): return try open(welcome)
        case (.result(let result), _) where result.id == .none:
            state = .closed
            return .refused(result)
        case (.goodbye(let goodbye), .greeting), (.goodbye(let goodbye), .open):
            state = .leaving
            return .leaving(goodbye)
        case (.ping(let token), .open), (.ping(let token), .leaving): return .reply(.pong(token))
        case (.pong, .open), (.pong, .leaving): return .nothing
        case (_, .open), (_, .leaving): return try upload(message)
        case (_, .greeting):
            throw ProtocolFault(.unexpectedFrame, "The server sent \(message.function) before welcome.")
        }
    }

    /// A client that obeyed a limit of nothing would wait for ever, or send empty frames or pings without end.
    private mutating func open(_ welcome: Welcome) throws(ProtocolFault) -> Action {
        guard welcome.dataBody > 0, welcome.unacknowledgedUploads > 0, welcome.heartbeat > 0, welcome.silence > 0 else {
            throw .malformed("The welcome frame has a limit of zero.")
        }
        unacknowledgedLimit = min(Int(welcome.unacknowledgedUploads), Limits.unacknowledgedUploads)
        isWelcomed = true
        state = .open
        return .welcomed(welcome)
    }

    private mutating func upload(_ message: Message) throws(ProtocolFault) -> Action {
        switch message {
        case .result(let result):
            guard begun.remove(result.id) != nil else { throw unknown(.result) }
            asked[result.id] = nil
            accepted.remove(result.id)
            guard lookedUp.remove(result.id) != nil else { return finish(result) }
            guard result.isAcknowledgement else {
                throw ProtocolFault(.unexpectedFrame, "The server answered a lookup with \(result.code).")
            }
            return .known(result)
        case .receipts(let receipts):
            guard receipts.count <= owed else {
                throw ProtocolFault(
                    .unexpectedFrame, "The server sent \(receipts.count) receipts for \(owed) acknowledgements.")
            }
            owed -= receipts.count
            return .receipts(receipts)
        case .unknown(let ids):
            for id in ids {
                guard lookedUp.remove(id) != nil else { throw unknown(.unknown) }
                begun.remove(id)
            }
            return .unknown(ids)
        case .accept(let id):
            guard begun.contains(id), !lookedUp.contains(id) else { throw unknown(.accept) }
            if asked.removeValue(forKey: id) != nil {
                begun.remove(id)
            } else if !accepted.insert(id).inserted {
                throw ProtocolFault(.unexpectedFrame, "The server admitted an upload twice.")
            }
            return .accepted(id)
        case .have(let have):
            guard let next = asked[have.id] else { throw unknown(.have) }
            let (end, isOver) = have.first.addingReportingOverflow(UInt64(have.digests.count))
            guard have.first >= next, end > have.first, !isOver else {
                throw ProtocolFault(.unexpectedFrame, "The server names blocks twice, or none.")
            }
            asked[have.id] = end
            return .found(have)
        case .received(let received):
            // The result may have overtaken it in the server.
            return begun.contains(received.id) ? .progress(received.id, bytes: received.bytes) : .nothing
        case .entries, .file, .block, .end, .outcome, .persons, .deliveries: return try answer(message)
        case .arrived(let number):
            guard watches else {
                throw ProtocolFault(.unexpectedFrame, "The server told of mail that nobody waits for.")
            }
            return .arrived(number)
        default:
            throw ProtocolFault(.unexpectedFrame, "The \(message.function) frame is not allowed from the server now.")
        }
    }

    private mutating func answer(_ message: Message) throws(ProtocolFault) -> Action {
        try answers.receive(message)
        switch message {
        case .entries(let entries): return .entries(entries)
        case .persons(let persons): return .persons(persons)
        case .deliveries(let deliveries): return .deliveries(deliveries)
        case .file(let file): return .file(file)
        case .block(let block): return .block(block)
        case .end(let end): return .fetched(end)
        case .outcome(let outcome): return .outcome(outcome)
        default: throw unknown(message.function)
        }
    }

    /// What a question is answered with carries its receipt; what an upload is answered with need not.
    private mutating func finish(_ result: UploadResult) -> Action {
        guard wantsReceipts, result.isAcknowledgement, result.receipt == nil else { return .finished(result) }
        owed += 1
        return .acknowledged(result)
    }

    private func unknown(_ function: FunctionCode) -> ProtocolFault {
        ProtocolFault(.unexpectedFrame, "The server sent \(function) for an upload that was not begun.")
    }
}
