import TransferConnection
import TransferHTTP
import TransferIO
import TransferModel
import TransferProtocol

/// The server's side of HTTP/1.1, used by `HTTPSession`: turns bytes into requests and their content, as steps of a batch. It neither
/// sends, waits nor works itself.
///
/// ```
///   between ──head──► undecided ──decided──► decided ──┬──► content ──end──► between
///                                                      └──► gathering ──► content
/// ```
///
/// Order of calls: `step` until it needs more; `ask` for each head that it finds, and `decided` when the client is known; `answered`
/// whenever the pool has answers, `saidLast` and `halfClosed` when one side ends the conversation.
struct HTTPWire {
    /// What the last bytes ask of the session.
    enum Demand {
        /// More bytes are needed. `isInRequest` says whether they belong to a request; nil if that has not changed.
        case needsMore(isInRequest: Bool?)
        case nothing
        /// A request begins; the session has to call `ask`.
        case head(RequestHead, BodyFraming)
        /// The content of the request is complete.
        case end
    }

    /// How much of the last request has arrived.
    private enum Incoming {
        case between
        /// The head has arrived; the client is not known yet.
        case undecided(UndecidedRequest)
        /// The client is known; the request is in no batch yet.
        case decided(HTTPRequest)
        /// The request waits for its content, which is short, and goes to the pool together with it.
        case gathering(HTTPRequest, length: Int)
        case content
    }

    /// Which side has ended the conversation.
    enum Closing {
        case open
        /// The client sends no more requests, and waits for its answers.
        case halfClosed
        /// The client has received an answer that says it is the last.
        case saidLast
    }

    private var reader = RequestReader()
    private var incoming = Incoming.between
    private(set) var closing = Closing.open
    /// Number of requests without a complete answer.
    private(set) var unanswered: Int
    /// Whether a request is incomplete, as last reported to the session.
    private var isReceiving = false
    /// Whether the last received bytes had content.
    private var hasContent = false
    /// The client's violation of HTTP, for the answer.
    private(set) var fault: HTTPFault?

    /// - Parameter owesAnswer: whether the client gets an answer before it sends a request.
    init(owesAnswer: Bool) {
        unanswered = owesAnswer ? 1 : 0
    }

    /// The request whose client is not known yet.
    var undecided: UndecidedRequest? { if case .undecided(let request) = incoming { request } else { nil } }

    /// Whether no request is incomplete or unanswered, as far as bytes were parsed.
    var owesNothing: Bool { !isReceiving && unanswered == 0 }

    /// Whether no byte of the next request has arrived.
    var isBetweenRequests: Bool { !isReceiving && reader.isBetweenRequests }

    /// Whether content may arrive next: inside a request with content, and after one.
    var expectsContent: Bool { hasContent || isReceiving }

    /// Whether the session may answer in place of the worker. A violation inside the content of a request that is answered already gets no
    /// answer: the client would read it as the answer to the next request.
    var owesAnswer: Bool {
        let isInHead = if case .between = incoming { !reader.isBetweenRequests } else { false }
        return unanswered > 0 || closing != .saidLast && isInHead
    }

    /// Takes the next step from the unparsed bytes.
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

    /// Keeps the fault for the last answer.
    ///
    /// - Returns: the fault to throw.
    mutating func broken(_ fault: HTTPFault) -> ProtocolFault {
        self.fault = fault
        return ProtocolFault(.malformedFrame, fault.message)
    }

    /// Notes a request whose client the session has to find out.
    mutating func ask(_ request: UndecidedRequest) {
        (incoming, isReceiving) = (.undecided(request), true)
        unanswered += 1
    }

    /// Notes that the client of the request is known.
    mutating func decided(_ request: HTTPRequest) { incoming = .decided(request) }

    /// Notes that all received bytes are parsed into this batch.
    mutating func parsed(_ batch: HTTPBatch) { hasContent = batch.hasContent }

    /// Notes that further requests have their complete answers.
    mutating func answered(_ count: Int) { unanswered -= min(unanswered, count) }

    /// Notes that the client has received an answer that says it is the last.
    mutating func saidLast() { closing = .saidLast }

    /// Notes that the client sends no more.
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
        /// Content of the last request; its range in the buffer.
        case content(Range<Int>)
        /// The content of the request is complete; the trailers follow it.
        case end(HTTPFields)
    }

    /// Most steps in one batch, so that a buffer full of short requests, or of chunks of one byte, does not need many times as much memory.
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

    /// Adds content, whose range counts from the first unparsed byte. Adjacent content is joined, because each piece is one call to the
    /// disk.
    func append(content range: Range<Int>) {
        hasContent = true
        let placed = input.placed(range)
        if case .content(let last)? = operations.last, last.upperBound == placed.lowerBound {
            operations[operations.count - 1] = .content(last.lowerBound..<placed.upperBound)
        } else {
            operations.append(.content(placed))
        }
    }

    /// False, because access is rechecked for each request when it is performed.
    let hasBeginnings = false

    static func content(of operation: Operation) -> Range<Int>? {
        if case .content(let range) = operation { range } else { nil }
    }
}
