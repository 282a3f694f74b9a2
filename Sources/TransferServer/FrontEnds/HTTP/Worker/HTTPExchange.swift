import TransferHTTP
import TransferIntake
import TransferModel

/// A handler's response to a request.
enum HTTPResponse {
    /// The complete answer, which is short.
    case reply(HTTPReply)

    /// An answer that is made piece by piece. HEAD gets only its head.
    case long(any HTTPAnswer)

    /// The content of the request is wanted; the answer follows from it.
    ///
    /// - Parameter interim: an answer before the final one; empty for none.
    case receive(any ContentReceiver, interim: [UInt8] = [])
}

/// How a request continues after a piece of content.
enum ContentProgress {
    /// - Parameter interim: an answer before the final one; empty for none.
    case wantsMore(interim: [UInt8] = [])

    /// The answer to the request. Further content is ignored.
    case answer(HTTPReply)
}

/// Takes the content of one request, and makes its answer. Used by one thread at a time, in this order:
///
/// ```
///   write ──► write ──► … ──► finish          each of them may throw; that ends the request with a refusal
///         settled, endTurn
/// ```
protocol ContentReceiver: AnyObject {
    /// - Parameter bytes: the next bytes of the content.
    /// - Throws: why the request is refused.
    func write(_ bytes: UnsafeRawBufferPointer) throws(HTTPRefusal) -> ContentProgress

    /// Ends the content. A complete upload is published before the next request is handled, because its answer comes first.
    ///
    /// - Throws: why the request is refused.
    /// - Returns: the answer, which wants no further content.
    func finish(_ trailers: HTTPFields) throws(HTTPRefusal) -> HTTPResponse

    /// Takes the result of an upload of this request that the worker has settled, because the client's access was taken back, or because
    /// the upload was published at the end of the turn.
    func settled(_ settled: EndedUpload)

    /// Called before other connections get the thread.
    func endTurn()
}

extension ContentReceiver {
    func endTurn() {}
}

/// One request and its answer. `HTTPSteps` has one at a time, and replaces it when the next request begins.
///
/// ```
///            receive                answered
///   begun ─────────────► receiving ──────────► answered ──► the next request
///     │ begin                 │                    ▲
///     ├─────────► answering ◄─┘                    │         over: the connection ends behind the answer
///     │               ├── answered ────────────────┤
///     │               └── cutOff: the connection ends inside the answer
///     └── answered ────────────────────────────────┘
/// ```
struct HTTPExchange {
    enum State {
        /// The handler has not answered yet.
        case begun
        case receiving(any ContentReceiver)
        /// A long answer is being made; later requests wait.
        ///
        /// - Parameter isLast: whether the connection ends after it.
        case answering(any HTTPAnswer, isLast: Bool)
        /// The answer is complete. The rest of the content is ignored.
        case answered
        /// The last answer of the connection is complete. Everything after it is ignored.
        case over
        /// The client may have received the beginning of an answer, and will not get the rest. Nothing may be sent any more, because the
        /// client would read it as the rest.
        case cutOff
    }

    /// How much of the request's content has arrived.
    private enum Content {
        /// The client waits for a 100 before it sends the content.
        case withheld
        case coming
        case complete
    }

    let request: HTTPRequest
    private(set) var state = State.begun
    private var content: Content

    /// Most bytes of content that are read and ignored so that the connection can stay open.
    private static let mostIgnored: UInt64 = 64 << 10

    init(_ request: HTTPRequest) {
        self.request = request
        content = request.head.expectsContinue && request.body != .none ? .withheld : .coming
    }

    /// The long answer that is being made; nil without one.
    var answer: (any HTTPAnswer)? { if case .answering(let answer, _) = state { answer } else { nil } }

    var receiver: (any ContentReceiver)? { if case .receiving(let receiver) = state { receiver } else { nil } }

    /// Whether everything further on this connection is ignored.
    var isOver: Bool {
        switch state {
        case .over, .cutOff: true
        case .begun, .receiving, .answering, .answered: false
        }
    }

    /// Whether the client may have received the beginning of an answer, and not the rest.
    var isInAnswer: Bool {
        switch state {
        case .answering, .cutOff: true
        case .begun, .receiving, .answered, .over: false
        }
    }

    /// Passes the result of an upload to the receiver or the answer.
    func settled(_ settled: EndedUpload) {
        switch state {
        case .receiving(let receiver): receiver.settled(settled)
        case .answering(let answer, _): answer.settled(settled)
        case .begun, .answered, .over, .cutOff: break
        }
    }

    /// Passes the content to a receiver from now on.
    ///
    /// - Returns: the 100 that the client waits for before it sends the content; empty for none.
    mutating func receive(_ receiver: any ContentReceiver) -> [UInt8] {
        state = .receiving(receiver)
        if content == .withheld { content = .coming }
        return request.head.expectsContinue ? Array("HTTP/1.1 100 Continue\r\n\r\n".utf8) : []
    }

    /// Notes that the content is complete.
    mutating func contentEnded() { content = .complete }

    /// Begins a long answer, or replaces the current one.
    mutating func begin(_ answer: any HTTPAnswer, isLast: Bool) { state = .answering(answer, isLast: isLast) }

    /// Notes that the answer is complete.
    mutating func answered(isLast: Bool) { state = isLast ? .over : .answered }

    /// Cuts off a long answer.
    mutating func abandon() { if case .answering = state { state = .cutOff } }
}

/// Whether the connection ends after an answer, and how the answer says so.
extension HTTPExchange {
    /// Whether the connection ends after a short answer.
    func endsConnection(behind reply: HTTPReply, isStopping: Bool) -> Bool {
        reply.rejectsContent && hasMuchToCome || endsConnection(isStopping: isStopping)
    }

    /// Whether the connection ends after a long answer.
    func endsConnection(behind answer: any HTTPAnswer, isStopping: Bool) -> Bool {
        answer.endsConnection || endsConnection(isStopping: isStopping)
    }

    /// A client that gets its answer while it waits for a 100 may send its content or not, so the next bytes could be content or another
    /// request (RFC 9110, section 10.1.1).
    private func endsConnection(isStopping: Bool) -> Bool {
        !request.isPersistent || isStopping || content == .withheld
    }

    private var hasMuchToCome: Bool {
        if content == .complete { return false }
        return switch request.body {
        case .none: false
        case .length(let length): length > Self.mostIgnored
        case .chunked, .untilClose: true
        }
    }

    /// - Parameter answer: its head, and the bytes after it.
    /// - Returns: the answer, with fields about the connection and about caching added.
    func completed(_ answer: [UInt8], isLast: Bool) -> [UInt8] {
        // The files of the page are the same for every client.
        let isForAnybody = request.session == nil || AssetHandler.isAsset(request.head)
        let answer = isForAnybody ? answer : HTTPAnswers.forgotten(answer)
        // Clients of HTTP/1.0 need a field if the connection stays open (RFC 9112, appendix C.2.2).
        return request.head.version == .http10 && !isLast ? HTTPAnswers.keepingOpen(answer) : answer
    }
}
