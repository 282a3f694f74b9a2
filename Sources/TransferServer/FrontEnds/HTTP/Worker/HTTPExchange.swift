import TransferHTTP
import TransferIntake
import TransferModel

/// What a handler makes of a request.
enum HTTPResponse {
    /// All of the answer.
    case reply(HTTPReply)

    /// An answer that is made piece by piece. A HEAD gets its head alone.
    case long(any HTTPAnswer)

    /// The content of the request is wanted; the answer follows from it.
    ///
    /// - Parameter interim: an answer that comes before the final one; empty for none.
    case receive(any ContentReceiver, interim: [UInt8] = [])
}

/// What follows from some content.
enum ContentProgress {
    /// - Parameter interim: an answer that comes before the final one; empty for none.
    case wantsMore(interim: [UInt8] = [])

    /// The answer to the request. What still comes of its content is ignored.
    case answer(HTTPReply)
}

/// Takes the content of one request, and makes the answer of it. Used by one thread at a time, in this order:
///
/// ```
///   write ──► write ──► … ──► finish          each of them may throw, which is the answer, too
///         settled, endTurn
/// ```
protocol ContentReceiver: AnyObject {
    /// - Parameter bytes: the next ones.
    /// - Throws: why the request is refused.
    func write(_ bytes: UnsafeRawBufferPointer) throws(HTTPRefusal) -> ContentProgress

    /// All of the content has come. What is complete is published before anything else is looked at, because the answer to this
    /// request is the next one that the client gets.
    ///
    /// - Throws: why the request is refused.
    func finish(_ trailers: HTTPFields) throws(HTTPRefusal) -> HTTPReply

    /// The worker has settled an upload of the request, and not this receiver: its access was taken back, or it was published at the
    /// end of the turn.
    func settled(_ settled: EndedUpload)

    /// Other connections get the thread.
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
        /// Its handler has not answered.
        case begun
        case receiving(any ContentReceiver)
        /// A long answer is being made; the requests behind it wait.
        ///
        /// - Parameter isLast: whether the connection ends behind it.
        case answering(any HTTPAnswer, isLast: Bool)
        /// It has its answer. What still comes of its content is ignored.
        case answered
        /// It has the last answer of the connection. Nothing that comes behind it is looked at.
        case over
        /// The client may have the beginning of an answer, and will not have the rest. Anything that was said now would be taken for
        /// the rest.
        case cutOff
    }

    /// How far the content of the request is.
    private enum Content {
        /// The client waits for a 100 before it sends its content.
        case withheld
        case coming
        case complete
    }

    let request: HTTPRequest
    private(set) var state = State.begun
    private var content: Content

    /// Bytes of content that are read though they are ignored, so that the connection can be used on.
    private static let mostIgnored: UInt64 = 64 << 10

    init(_ request: HTTPRequest) {
        self.request = request
        content = request.head.expectsContinue && request.body != .none ? .withheld : .coming
    }

    /// The long answer that is being made.
    var answer: (any HTTPAnswer)? { if case .answering(let answer, _) = state { answer } else { nil } }

    var receiver: (any ContentReceiver)? { if case .receiving(let receiver) = state { receiver } else { nil } }

    /// Whether nothing more is looked at on this connection.
    var isOver: Bool {
        switch state {
        case .over, .cutOff: true
        case .begun, .receiving, .answering, .answered: false
        }
    }

    /// Whether the client may have the beginning of an answer, and not the rest.
    var isInAnswer: Bool {
        switch state {
        case .answering, .cutOff: true
        case .begun, .receiving, .answered, .over: false
        }
    }

    /// Gives the result of an upload to what waits for it.
    func settled(_ settled: EndedUpload) {
        switch state {
        case .receiving(let receiver): receiver.settled(settled)
        case .answering(let answer, _): answer.settled(settled)
        case .begun, .answered, .over, .cutOff: break
        }
    }

    /// The content goes to a receiver from now on.
    ///
    /// - Returns: what the client waits for before it sends the content.
    mutating func receive(_ receiver: any ContentReceiver) -> [UInt8] {
        state = .receiving(receiver)
        if content == .withheld { content = .coming }
        return request.head.expectsContinue ? Array("HTTP/1.1 100 Continue\r\n\r\n".utf8) : []
    }

    /// All of the content has come.
    mutating func contentEnded() { content = .complete }

    /// A long answer begins, or takes the place of the one before it.
    mutating func begin(_ answer: any HTTPAnswer, isLast: Bool) { state = .answering(answer, isLast: isLast) }

    /// All of the answer is said.
    mutating func answered(isLast: Bool) { state = isLast ? .over : .answered }

    /// The rest of a long answer is not made.
    mutating func abandon() { if case .answering = state { state = .cutOff } }
}

/// What becomes of the connection, and what answers say of it.
extension HTTPExchange {
    /// Whether the connection ends behind a short answer.
    func endsConnection(behind reply: HTTPReply, isStopping: Bool) -> Bool {
        reply.rejectsContent && hasMuchToCome || endsConnection(isStopping: isStopping)
    }

    /// Whether the connection ends behind a long answer.
    func endsConnection(behind answer: any HTTPAnswer, isStopping: Bool) -> Bool {
        answer.endsConnection || endsConnection(isStopping: isStopping)
    }

    /// A client that has its answer while it waits for a 100 may send its content or not: whether what follows is that or another
    /// request cannot be told (RFC 9110, section 10.1.1).
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

    /// - Parameter answer: its head, and what stands behind it.
    /// - Returns: the same, with what the client has to know of the connection.
    func completed(_ answer: [UInt8], isLast: Bool) -> [UInt8] {
        let answer = request.session == nil ? answer : HTTPAnswers.forgotten(answer)
        // To clients of HTTP/1.0 it has to be said that the connection stays open (RFC 9112, appendix C.2.2).
        return request.head.version == .http10 && !isLast ? HTTPAnswers.keepingOpen(answer) : answer
    }
}
