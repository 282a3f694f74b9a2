import TransferConnection
import TransferHTTP
import TransferIO
import TransferModel
import TransferProtocol

/// What a client says in HTTP/1.1: bytes become requests and their content, as steps of a batch. It neither sends, waits nor works
/// itself.
///
/// ```
///   between ──head──► undecided ──decided──► decided ──┬──► content ──end──► between
///                                                      └──► gathering ──► content
/// ```
///
/// The order of calls: `step` until it needs more; `ask` for each head that it finds, and `decided` when it is known who asks;
/// `answered` whenever the pool has answers, `saidLast` and `halfClosed` when one side says no more.
struct HTTPWire {
    /// What was found, and what it asks of the session.
    enum Demand {
        /// More bytes are needed; whether they belong to a request, where that is another answer than before.
        case needsMore(isInRequest: Bool?)
        case nothing
        /// A request begins: `ask` is to be called.
        case head(RequestHead, BodyFraming)
        /// All content of the request has come.
        case end
    }

    /// How far the request that came last is.
    private enum Incoming {
        case between
        /// It is not known who asks.
        case undecided(UndecidedRequest)
        /// It is known who asks, and the request is in no batch.
        case decided(HTTPRequest)
        /// It goes to the pool together with all of its content, which is short, once that has come.
        case gathering(HTTPRequest, length: Int)
        case content
    }

    /// Which side says no more.
    enum Closing {
        case open
        /// The client asks for nothing more, and waits for what it has asked for.
        case halfClosed
        /// The client was told that it has had its last answer.
        case saidLast
    }

    private var reader = RequestReader()
    private var incoming = Incoming.between
    private(set) var closing = Closing.open
    /// Requests that have no answer yet.
    private(set) var unanswered: Int
    /// Whether more of a request is coming, as the session was told.
    private var isReceiving = false
    /// Whether there was content in what came last.
    private var hasContent = false
    /// What the client did wrong, in HTTP's words.
    private(set) var fault: HTTPFault?

    /// - Parameter owesAnswer: whether the client has an answer to come before it has asked.
    init(owesAnswer: Bool) {
        unanswered = owesAnswer ? 1 : 0
    }

    /// The request of which is not known who asks.
    var undecided: UndecidedRequest? { if case .undecided(let request) = incoming { request } else { nil } }

    /// Whether nothing is asked, as far as it was parsed.
    var owesNothing: Bool { !isReceiving && unanswered == 0 }

    /// Whether nothing has come of the next request.
    var isBetweenRequests: Bool { !isReceiving && reader.isBetweenRequests }

    /// Whether content may come next: inside a request that has some, and behind one.
    var expectsContent: Bool { hasContent || isReceiving }

    /// Whether a client waits for an answer that the session can give in the place of the worker. A fault in content whose request has
    /// its answer already gets none: the client would take it for the answer to the next request.
    var owesAnswer: Bool {
        let isInHead = if case .between = incoming { !reader.isBetweenRequests } else { false }
        return unanswered > 0 || closing != .saidLast && isInHead
    }

    /// Takes the next step from what is unparsed.
    mutating func step(_ batch: HTTPBatch) throws(ProtocolFault) -> Demand {
        switch incoming {
        case .undecided: return .needsMore(isInRequest: nil)
        case .decided(let request):
            if let length = request.gatheredLength {
                incoming = .gathering(request, length: length)
                return .nothing
            }
            return pass(on: request, batch)
        case .gathering(let request, let length):
            guard batch.unparsed.count >= length else { return .needsMore(isInRequest: nil) }
            return pass(on: request, batch)
        case .between, .content: return try read(batch)
        }
    }

    private mutating func pass(on request: HTTPRequest, _ batch: HTTPBatch) -> Demand {
        batch.append(.request(request))
        incoming = .content
        return .nothing
    }

    private mutating func read(_ batch: HTTPBatch) throws(ProtocolFault) -> Demand {
        let (step, consumed) = try next(batch)
        defer { batch.consumed(consumed) }
        switch step {
        case .needsMore:
            guard reader.isBetweenRequests == isReceiving else { return .needsMore(isInRequest: nil) }
            isReceiving.toggle()
            return .needsMore(isInRequest: isReceiving)
        case .head(let head, let body): return .head(head, body)
        case .content(let range):
            batch.append(content: range)
            return .nothing
        case .end(let trailers):
            batch.append(.end(trailers))
            (incoming, isReceiving) = (.between, false)
            return .end
        }
    }

    private mutating func next(_ batch: HTTPBatch) throws(ProtocolFault) -> (RequestStep, Int) {
        do throws(HTTPFault) {
            return try reader.next(batch.unparsed)
        } catch {
            throw broken(error)
        }
    }

    /// - Returns: the same, as what is thrown.
    mutating func broken(_ fault: HTTPFault) -> ProtocolFault {
        self.fault = fault
        return ProtocolFault(.malformedFrame, fault.message)
    }

    /// A request has come, and it is to be found out who asks.
    mutating func ask(_ request: UndecidedRequest) {
        (incoming, isReceiving) = (.undecided(request), true)
        unanswered += 1
    }

    /// It is known who asks.
    mutating func decided(_ request: HTTPRequest) { incoming = .decided(request) }

    /// All that was received is parsed, into this batch.
    mutating func parsed(_ batch: HTTPBatch) { hasContent = batch.hasContent }

    /// So many requests more have their whole answer.
    mutating func answered(_ count: Int) { unanswered -= min(unanswered, count) }

    /// The client was told that it has had its last answer.
    mutating func saidLast() { closing = .saidLast }

    /// The client says no more.
    mutating func halfClosed() {
        if closing == .open { closing = .halfClosed }
    }
}

/// One receive buffer on its way to the pool, with the requests in it, in order.
///
/// `@unchecked Sendable`: the session fills it, then hands it over and never touches it again.
final class HTTPBatch: StepBatch, @unchecked Sendable {
    enum Operation {
        case request(HTTPRequest)
        /// Content of the request that came last, as it lies in the buffer.
        case content(Range<Int>)
        /// All content of the request has come, with its trailers.
        case end(HTTPFields)
    }

    /// Steps in one batch at most, so that a buffer full of short requests, or of chunks of a byte, does not become many times
    /// as much memory.
    static let mostOperations = 512

    var input: ReceiveBuffer
    private(set) var operations: [Operation] = []

    init(_ buffer: BlockBuffer, carry: [UInt8]) {
        input = ReceiveBuffer(buffer, carry: carry)
    }

    init(after batch: HTTPBatch) {
        input = batch.input
    }

    var isEmpty: Bool { operations.isEmpty }

    var isComplete: Bool { operations.count >= Self.mostOperations }

    private(set) var hasContent = false

    func append(_ operation: Operation) { operations.append(operation) }

    /// Adds content whose range counts from the first unparsed byte. What comes right behind other content becomes one piece
    /// with it: each is a call to the disk.
    func append(content range: Range<Int>) {
        hasContent = true
        let placed = input.placed(range)
        if case .content(let last)? = operations.last, last.upperBound == placed.lowerBound {
            operations[operations.count - 1] = .content(last.lowerBound..<placed.upperBound)
        } else {
            operations.append(.content(placed))
        }
    }

    /// Access is rechecked for each request, when it is performed.
    let hasBeginnings = false

    static func content(of operation: Operation) -> Range<Int>? {
        if case .content(let range) = operation { range } else { nil }
    }
}
