package import TransferModel

/// The client's side of one connection: which frames of the server are legal now, and what each means. No I/O.
///
/// ```
///   greeting ──welcome──► open ──goodbye──► leaving
///      └────────result about the connection──► closed ◄─┘
/// ```
///
/// Uploads may begin before `welcome` arrives, within the baseline limits, so that a small push costs no extra round
/// trip.
package struct ClientConnection: Sendable {
    private enum State {
        case greeting
        case open
        /// The server takes no new uploads but still answers open ones.
        case leaving
        case closed
    }

    private var state = State.greeting
    /// Uploads that have no result yet, and resumes and lookups that have no answer yet.
    private var begun: Set<UploadID> = []
    /// Resumes without an answer, each with the lowest block that its next `have` may name.
    private var asked: [UploadID: UInt64] = [:]
    /// Uploads that the server has admitted and not yet answered with a result.
    private var accepted: Set<UploadID> = []
    /// IDs of lookups that have no answer yet.
    private var lookedUp: Set<UploadID> = []
    /// Number of acknowledgements whose receipts have not arrived. Their uploads still count against `allowance`.
    private var owed = 0
    private let wantsReceipts: Bool
    /// Encodings, besides `stored`, that the server may use for content.
    private let encodings: Set<BodyEncoding>
    private var answers = Answers()
    /// Whether a `mail` request has asked the server to announce new deliveries.
    private var watches = false

    /// Whether the handshake is complete: `welcome` has arrived.
    package private(set) var isWelcomed = false

    /// Most uploads without a result: the baseline limit until `welcome` states another one.
    package private(set) var unacknowledgedLimit = Limits.unacknowledgedUploads

    /// - Parameter features: the features that `hello` declares.
    package init(features: Features = []) {
        wantsReceipts = features.contains(.receipts)
        encodings = features.encodings
    }

    /// What a message means for the client.
    package enum Action: Equatable, Sendable {
        case welcomed(Welcome)
        /// The upload was admitted: send its data.
        case accepted(UploadID)
        /// Blocks that the server has of an upload that the client wants to resume; `accepted` follows.
        case found(Have)
        case progress(UploadID, bytes: UInt64)
        case finished(UploadResult)
        /// The upload has its result, but not yet its receipt. Receipts arrive in the order of the results.
        case acknowledged(UploadResult)
        /// Receipts of the oldest acknowledgements that have no receipt yet.
        case receipts(SignedBatch)
        /// The server has already acknowledged an upload that was looked up; this is its result.
        case known(UploadResult)
        /// Uploads that were looked up, have no acknowledgement and must be sent.
        case unknown([UploadID])
        /// A part of a list that answers the oldest open request.
        case entries(Entries)
        case persons(Persons)
        case deliveries(Deliveries)
        /// The number of the newest delivery.
        case arrived(UInt64)
        /// The content of this file follows.
        case file(FetchedFile)
        case block(BlockDigest)
        /// All content has arrived, which completes the answer to the fetch.
        case fetched(End)
        /// The answer to the oldest open request is complete.
        case outcome(Outcome)
        /// A message to send to the server.
        case reply(Message)
        /// The server takes no more uploads on this connection.
        case leaving(Goodbye)
        /// The server ends the connection; the result says why.
        case refused(UploadResult)
        case nothing

        /// Whether the message answers something that the client has sent. Messages that a server could repeat for ever
        /// without completing an answer do not count: pings, announcements of mail, progress and empty lists.
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

    /// Uploads that may begin now.
    package var allowance: Int {
        switch state {
        case .greeting, .open: max(0, unacknowledgedLimit - begun.count - owed)
        case .leaving, .closed: 0
        }
    }

    /// Number of IDs that were looked up and have no answer yet.
    package var lookups: Int { lookedUp.count }

    /// Whether all uploads have results and receipts, and all requests answers.
    package var isSettled: Bool { begun.isEmpty && owed == 0 && answers.isEmpty }

    /// Whether a request may be sent now; false until `welcome` has arrived.
    package func allows(_ request: Request) -> Bool {
        if case .open = state { answers.allows(request) } else { false }
    }

    /// Records a request that is being sent.
    package mutating func requested(_ request: Request) {
        answers.add(request)
        if case .mail(let mail) = request, mail.watches { watches = true }
    }

    /// Checks a piece of a `data` body.
    ///
    /// - Parameter bytes: size of the piece on the wire.
    /// - Throws: `unexpectedFrame` unless the piece belongs to an answer and has an encoding that `hello` permits; the
    ///   connection must end.
    package mutating func receiveData(_ encoding: BodyEncoding, _ bytes: Int) throws(ProtocolFault) {
        guard encoding == .stored || encodings.contains(encoding) else {
            throw ProtocolFault(
                .unexpectedFrame, "The server compresses with \(encoding), which the client did not request.")
        }
        try answers.receiveData(bytes)
    }

    /// Records a `begin` that is being sent. The server refuses an ID that has no result yet, so this side does not
    /// check for duplicates.
    package mutating func began(_ id: UploadID) {
        begun.insert(id)
    }

    /// Records a `resume` that is being sent; `accepted` or `finished` answers it.
    package mutating func asked(_ id: UploadID) {
        began(id)
        asked[id] = 0
    }

    /// Records a `lookup` that is being sent; `known` or `unknown` answers each ID.
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

    /// Refuses limits of zero: a client that respected them would wait for ever, or send empty frames or pings without
    /// end.
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
                throw ProtocolFault(.unexpectedFrame, "The server names a block twice, or no blocks.")
            }
            asked[have.id] = end
            return .found(have)
        case .received(let received):
            // The server may have sent the upload's result before this message.
            return begun.contains(received.id) ? .progress(received.id, bytes: received.bytes) : .nothing
        case .entries, .file, .block, .end, .outcome, .persons, .deliveries: return try answer(message)
        case .arrived(let number):
            guard watches else {
                throw ProtocolFault(.unexpectedFrame, "The server announced mail that the client does not wait for.")
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

    /// The result of a resumed or looked-up upload contains its receipt. The receipt of a new upload may arrive later,
    /// in `receipts`.
    private mutating func finish(_ result: UploadResult) -> Action {
        guard wantsReceipts, result.isAcknowledgement, result.receipt == nil else { return .finished(result) }
        owed += 1
        return .acknowledged(result)
    }

    private func unknown(_ function: FunctionCode) -> ProtocolFault {
        ProtocolFault(.unexpectedFrame, "The server sent \(function) for an upload that was not begun.")
    }
}
