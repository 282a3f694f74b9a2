package import TransferModel

/// The server's side of one connection: which frames are legal now, and what each requests. No I/O.
///
/// ```
///   awaitingHello ──hello──► open(idle) ──begin──► open(receiving) ──end, abort──► open(idle)
///                                                      │ refused                      ▲
///                                                      └──► open(skipping) ──end, abort
///   any ──goodbye──► closed
/// ```
package struct ServerConnection: Sendable {
    private enum State: Equatable {
        case awaitingHello
        case open(Lane)
        case closed
    }

    private enum Lane: Equatable {
        case idle
        case receiving(UploadID)
        /// A refused upload whose frames still arrive.
        case skipping
    }

    private var state = State.awaitingHello
    /// Uploads, resumes and lookups that have no result yet.
    private var unacknowledged: Set<UploadID> = []
    private let unacknowledgedLimit: Int
    /// Requests that have no answer yet.
    private var requests = OpenRequests()

    package init(unacknowledgedLimit: Int = Limits.unacknowledgedUploads) {
        self.unacknowledgedLimit = unacknowledgedLimit
    }

    /// The work that a message asks of the server.
    package enum MessageAction: Equatable, Sendable {
        /// Answer the greeting with `welcome`.
        case welcome(Hello)
        case begin(Begin)
        /// Send the digests of the blocks that the server has, then `accept`; or send a result.
        case resume(Begin)
        /// Answer each ID with its acknowledgement, or list it in `unknown`.
        case lookup(Lookup)
        case block(BlockDigest)
        case end(End)
        case abort
        /// Answer this request after all earlier ones.
        case request(Request)
        /// End the request with this ID if it is not yet answered.
        case cancel(UInt32)
        /// The client sends no more frames. Close the connection once everything is answered.
        case reply(Message)
        /// The client sends no more; close once everything is answered.
        case close
        case nothing
    }

    /// What to do with a piece of a `data` body.
    package enum DataAction: Equatable, Sendable {
        case store
        case skip
    }

    /// Whether an upload is open, admitted or refused.
    package var isReceiving: Bool {
        switch state {
        case .open(.receiving), .open(.skipping): true
        case .open(.idle), .awaitingHello, .closed: false
        }
    }

    /// Whether the handshake is done.
    package var isOpen: Bool {
        if case .open = state { true } else { false }
    }

    /// Whether every upload has its result and every request its answer.
    package var isSettled: Bool { unacknowledged.isEmpty && !isReceiving && requests.isEmpty }

    /// - Throws: `unexpectedFrame`; the connection must end.
    package mutating func receive(_ message: Message) throws(ProtocolFault) -> MessageAction {
        switch (message, state) {
        case (.hello(let hello), .awaitingHello):
            state = .open(.idle)
            return .welcome(hello)
        case (.ping(let token), .open): return .reply(.pong(token))
        case (.pong, .open): return .nothing
        case (.goodbye, .open):
            state = .closed
            return .close
        case (_, .open(let lane)): return try upload(message, lane)
        case (_, .awaitingHello): throw unexpected(message.function, "before hello")
        case (_, .closed): throw unexpected(message.function, "after goodbye")
        }
    }

    private mutating func upload(_ message: Message, _ lane: Lane) throws(ProtocolFault) -> MessageAction {
        switch (message, lane) {
        case (.begin(let begin), .idle):
            try admit(begin.id)
            state = .open(.receiving(begin.id))
            return .begin(begin)
        case (.resume(let begin), .idle):
            try admit(begin.id)
            return .resume(begin)
        case (.lookup(let lookup), .idle):
            for id in lookup.ids { try admit(id) }
            return .lookup(lookup)
        case (.list(let list), .idle): return try admit(.list(list))
        case (.fetch(let fetch), .idle): return try admit(.fetch(fetch))
        case (.remove(let remove), .idle): return try admit(.remove(remove))
        case (.compare(let compare), .idle): return try admit(.compare(compare))
        case (.make(let make), .idle): return try admit(.make(make))
        case (.move(let move), .idle): return try admit(.move(move))
        case (.people(let people), .idle): return try admit(.people(people))
        case (.mail(let mail), .idle): return try admit(.mail(mail))
        case (.settle(let settle), .idle): return try admit(.settle(settle))
        case (.introduce(let introduce), .idle): return try admit(.introduce(introduce))
        // The request's answer may already be on its way.
        case (.cancel(let id), .idle): return requests.contains(id) ? .cancel(id) : .nothing
        case (.block(let block), .receiving): return .block(block)
        case (.end(let end), .receiving):
            state = .open(.idle)
            return .end(end)
        case (.abort, .receiving):
            state = .open(.idle)
            return .abort
        case (.block, .skipping): return .nothing
        case (.end, .skipping), (.abort, .skipping):
            state = .open(.idle)
            return .nothing
        case (.begin, .receiving), (.begin, .skipping), (.resume, .receiving), (.resume, .skipping),
            (.lookup, .receiving), (.lookup, .skipping), (.list, .receiving), (.list, .skipping), (.fetch, .receiving),
            (.fetch, .skipping), (.remove, .receiving), (.remove, .skipping), (.cancel, .receiving),
            (.cancel, .skipping), (.compare, .receiving), (.compare, .skipping), (.make, .receiving),
            (.make, .skipping), (.move, .receiving), (.move, .skipping), (.people, .receiving),
            (.people, .skipping), (.mail, .receiving), (.mail, .skipping),
            (.settle, .receiving), (.settle, .skipping), (.introduce, .receiving), (.introduce, .skipping):
            throw unexpected(message.function, "inside an upload")
        case (.block, .idle), (.end, .idle), (.abort, .idle): throw unexpected(message.function, "outside an upload")
        case (.hello, _): throw unexpected(.hello, "twice")
        default: throw unexpected(message.function, "from a client")
        }
    }

    private mutating func admit(_ request: Request) throws(ProtocolFault) -> MessageAction {
        try requests.add(request)
        return .request(request)
    }

    /// Records that a request has its complete answer.
    package mutating func answered(_ id: UInt32) { requests.answered(id) }

    /// Refuses an ID that has no result yet, because the client could not tell to which of the two uploads a result
    /// belongs.
    private mutating func admit(_ id: UploadID) throws(ProtocolFault) {
        guard unacknowledged.count < unacknowledgedLimit else {
            throw ProtocolFault(
                .unexpectedFrame, "More than \(unacknowledgedLimit) uploads were begun without a result.")
        }
        guard unacknowledged.insert(id).inserted else {
            throw ProtocolFault(.unexpectedFrame, "The upload \(id) was begun again before its result.")
        }
    }

    /// - Throws: `unexpectedFrame`; the connection must end.
    package mutating func receiveData() throws(ProtocolFault) -> DataAction {
        switch state {
        case .open(.receiving): return .store
        case .open(.skipping): return .skip
        case .open(.idle): throw unexpected(.data, "outside an upload")
        case .awaitingHello: throw unexpected(.data, "before hello")
        case .closed: throw unexpected(.data, "after goodbye")
        }
    }

    /// Records the result of an upload, or the answer to a resume or lookup. Frames of the upload that still arrive are
    /// skipped. An ID that is not open has no effect.
    package mutating func settled(_ id: UploadID) {
        guard unacknowledged.remove(id) != nil else { return }
        if state == .open(.receiving(id)) { state = .open(.skipping) }
    }

    private func unexpected(_ function: FunctionCode, _ place: String) -> ProtocolFault {
        ProtocolFault(.unexpectedFrame, "The \(function) frame is not allowed \(place).")
    }
}
