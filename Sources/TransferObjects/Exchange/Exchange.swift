import TransferHTTP
import TransferIO
import TransferModel
import TransferSystem

/// Nanoseconds that the steps of a request may take.
package struct ExchangeTimes: Sendable {
    /// For the TCP and TLS connection to one address. Handshakes with a far server take less than a second; three leave
    /// room for one lost packet (RFC 6298 repeats after one second, then after two).
    package var connect: Int64 = 3_000_000_000

    /// Without any byte sent or received. An engine that writes to disks before it answers may be silent for seconds.
    package var silence: Int64 = 20_000_000_000

    package init() {}
}

/// One request that is ready to be sent.
struct OutgoingRequest {
    let method: HTTPMethod
    /// The head as it is sent.
    let head: [UInt8]
    let content: ObjectContent?

    /// - Returns: nil if a field or the target is invalid.
    init?(
        _ method: HTTPMethod, _ target: String, _ fields: [(name: String, value: String)],
        content: ObjectContent? = nil
    ) {
        var lines = HTTPFields()
        for field in fields { lines.append(field.name, field.value) }
        if let content { lines.append("content-length", String(content.size)) }
        guard let head = HeadWriter.bytes(RequestHead(method, target, fields: lines)) else { return nil }
        (self.method, self.head, self.content) = (method, head, content)
    }
}

/// The place for the content of a successful answer. The content of other answers is always collected, because it
/// explains them.
enum AnswerPlace {
    /// In an array of at most so many bytes.
    case array(atMost: Int)
    /// In memory of the caller. Content that is longer than the memory is a fault.
    case memory(UnsafeMutableRawBufferPointer)
    /// Nowhere: a function gets the bytes in pieces.
    case function((UnsafeRawBufferPointer) -> Void)
}

/// The answer to a request, complete.
struct HTTPAnswer: Sendable {
    let head: ResponseHead
    /// The content, if it was collected in an array.
    var content: [UInt8] = []
    /// Bytes of the content, also of content that was not collected.
    var size = 0
    /// Whether the connection can be used for another request.
    var isReusable = false
    /// Whether the answer began before the content of the request was sent. Its success proves nothing then.
    var isEarly = false

    var isSuccess: Bool { (200...299).contains(head.status) }
}

/// Sends one request over a connection and reads its answer, which may begin while the content is still being sent: an
/// engine that refuses a request does not read its content. One thread, once.
struct Exchange {
    /// Most bytes of an answer that explains a failure. Those of AWS have less than 1 KiB; proxies send pages.
    static let longestExplanation = 64 << 10

    /// Bytes that are received at once: content of 16 MiB takes 64 calls.
    private static let window = 256 << 10

    private let socket: WaitingSocket
    private let request: OutgoingRequest
    private let place: AnswerPlace
    private let times: ExchangeTimes
    private let deadline: Int64

    private var reader = ResponseReader()
    private var content: ContentReader?
    private var sentHead = 0
    /// Whether TLS has sent all bytes that it has taken.
    private var isFlushed = false
    /// The reason why the request cannot be sent any more; the answer is still read.
    private var sendingFailure: StreamError?
    /// Received bytes that are not parsed yet.
    private var buffer: UnsafeMutableRawBufferPointer
    private var received = 0..<0
    private var answer: HTTPAnswer?
    private var framing = BodyFraming.none
    private var isOver = false
    private var hasAnswerBegun = false

    /// Performs the exchange.
    ///
    /// - Parameter deadline: time of the monotonic clock at which the whole exchange must be over.
    static func run(
        _ request: OutgoingRequest, on socket: WaitingSocket, into place: AnswerPlace, times: ExchangeTimes,
        until deadline: Int64
    ) throws(ExchangeFault) -> HTTPAnswer {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: window, alignment: 16)
        defer { buffer.deallocate() }
        var exchange = Exchange(
            socket: socket, request: request, place: place, times: times, deadline: deadline, buffer: buffer)
        do throws(ExchangeFault) {
            return try exchange.run()
        } catch {
            throw ExchangeFault(error.cause, hasAnswerBegun: exchange.hasAnswerBegun)
        }
    }

    private init(
        socket: WaitingSocket, request: OutgoingRequest, place: AnswerPlace, times: ExchangeTimes, deadline: Int64,
        buffer: UnsafeMutableRawBufferPointer
    ) {
        (self.socket, self.request, self.place) = (socket, request, place)
        (self.times, self.deadline, self.buffer) = (times, deadline, buffer)
        content = request.content.map { ContentReader($0.source, size: $0.size) }
        reader.expect(request.method)
    }

    private var isSent: Bool { sentHead == request.head.count && content?.isAtEnd != false && isFlushed }

    /// Whether nothing more is sent: everything was, the answer came early, or sending failed.
    private var endsSending: Bool { isSent || answer != nil || sendingFailure != nil }

    private mutating func run() throws(ExchangeFault) -> HTTPAnswer {
        while true {
            var progress = false
            if !endsSending { progress = try send() }
            if try receive() { progress = true }
            if isOver, var answer {
                answer.isReusable = isSent && !reader.isLastAnswer && received.isEmpty
                return answer
            }
            if !progress { try wait() }
        }
    }

    private func wait() throws(ExchangeFault) {
        let limit = min(deadline, monotonicDeadline(after: times.silence))
        let goesOn: Bool
        do throws(StreamError) {
            goesOn = try socket.wait(forSending: !endsSending, until: limit)
        } catch {
            throw ExchangeFault(.stream(error))
        }
        guard goesOn else { throw ExchangeFault(.silence) }
    }
}

// MARK: Sending

extension Exchange {
    /// Sends one piece.
    ///
    /// - Returns: whether anything has changed, so that another step may succeed without waiting.
    private mutating func send() throws(ExchangeFault) -> Bool {
        guard monotonicNanoseconds() < deadline else { throw ExchangeFault(.silence) }
        if sentHead < request.head.count { return sendHead() }
        if content?.isAtEnd == false { return try sendContent() }
        do throws(StreamError) {
            isFlushed = try socket.flush()
            return isFlushed
        } catch {
            return fail(error)
        }
    }

    /// Notes that nothing can be sent any more. The server may have answered before it closed the connection.
    private mutating func fail(_ error: StreamError) -> Bool {
        sendingFailure = error
        return true
    }

    private mutating func sendHead() -> Bool {
        do throws(StreamError) {
            let count = try request.head.span.bytes.withUnsafeBytes { (bytes) throws(StreamError) in
                try socket.send(UnsafeRawBufferPointer(rebasing: bytes[sentHead...]))
            }
            sentHead = min(request.head.count, sentHead + (count ?? 0))
            return (count ?? 0) > 0
        } catch {
            return fail(error)
        }
    }

    private mutating func sendContent() throws(ExchangeFault) -> Bool {
        var count = 0
        var failure: StreamError?
        let socket = socket
        do throws(ObjectError) {
            _ = try content?.next(atMost: .max) { (bytes) throws(ObjectError) in
                do throws(StreamError) {
                    count = try socket.send(bytes) ?? 0
                } catch {
                    failure = error
                }
                return count
            }
        } catch {
            throw ExchangeFault(.content(error))
        }
        if let failure { return fail(failure) }
        return count > 0
    }
}

// MARK: Receiving

extension Exchange {
    /// Receives and parses what has arrived.
    ///
    /// - Returns: whether anything has arrived.
    private mutating func receive() throws(ExchangeFault) -> Bool {
        guard monotonicNanoseconds() < deadline else { throw ExchangeFault(.silence) }
        if let space = directSpace { return try receive(directly: space) }
        makeRoom()
        let space = UnsafeMutableRawBufferPointer(rebasing: buffer[received.upperBound...])
        switch try arrival(into: space) {
        case .wouldBlock: return false
        case .end: try end()
        case .bytes(let count):
            received = received.lowerBound..<received.upperBound + count
            hasAnswerBegun = true
            try parse()
        }
        return true
    }

    private func arrival(into space: UnsafeMutableRawBufferPointer) throws(ExchangeFault) -> StreamSocket.Received {
        do throws(StreamError) {
            return try socket.receive(into: space)
        } catch {
            throw ExchangeFault(.stream(sendingFailure ?? error))
        }
    }

    /// Moves the unparsed bytes to the front of the buffer. They are a part of a line, so there are few of them.
    private mutating func makeRoom() {
        guard received.lowerBound > 0 else { return }
        if !received.isEmpty, let start = buffer.baseAddress {
            // Trap: the range is in the buffer, because it has as many bytes as were received into it.
            let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[received])
            if let from = bytes.baseAddress { start.copyMemory(from: from, byteCount: bytes.count) }
        }
        received = 0..<received.count
    }

    /// The memory for the next bytes of content, if they can be received to their final place without a copy.
    private var directSpace: UnsafeMutableRawBufferPointer? {
        guard case .memory(let target) = place, let answer, answer.isSuccess, case .length(let length) = framing,
            received.isEmpty, !isOver
        else { return nil }
        let rest = min(Int(clamping: length) - answer.size, target.count - answer.size)
        return rest > 0 ? UnsafeMutableRawBufferPointer(rebasing: target[answer.size...].prefix(rest)) : nil
    }

    private mutating func receive(directly space: UnsafeMutableRawBufferPointer) throws(ExchangeFault) -> Bool {
        switch try arrival(into: space) {
        case .wouldBlock: return false
        case .end: try end()
        case .bytes(let count):
            // Trap: a socket returns no more bytes than there was room for.
            var rest = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(space)[..<count])
            while !isOver {
                let (step, consumed) = try next(rest)
                rest = UnsafeRawBufferPointer(rebasing: rest[consumed...])
                switch step {
                case .content(let range): answer?.size += range.count
                case .end: isOver = true
                case .needsMore, .head, .informational: return true
                }
            }
        }
        return true
    }

    private mutating func next(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ExchangeFault) -> (step: ResponseStep, consumed: Int) {
        do throws(HTTPFault) {
            return try reader.next(bytes)
        } catch {
            throw ExchangeFault(.malformed(error.message))
        }
    }

    private mutating func parse() throws(ExchangeFault) {
        while !isOver {
            // Trap: the range is in the buffer, because it has as many bytes as were received into it.
            let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[received])
            let (step, consumed) = try next(bytes)
            received = received.lowerBound + consumed..<received.upperBound
            switch step {
            case .needsMore:
                guard received.count < buffer.count else { throw Self.tooLong }
                return
            case .informational: continue
            case .head(let head, let framing):
                // The last piece may have left just now.
                if content?.isAtEnd != false, (try? socket.flush()) == true { isFlushed = true }
                answer = HTTPAnswer(head: head, isEarly: !isSent)
                self.framing = framing
                try checkLength(framing)
                if directSpace != nil { return }
            // Trap: the reader returns ranges of the bytes that it was passed.
            case .content(let range): try take(UnsafeRawBufferPointer(rebasing: bytes[range]))
            case .end: isOver = true
            }
        }
    }

    /// Refuses content that is announced to be too long before any of it is received.
    private func checkLength(_ framing: BodyFraming) throws(ExchangeFault) {
        guard case .length(let length) = framing, let limit, length > UInt64(limit) else { return }
        throw Self.tooLong
    }

    /// Most bytes of the answer's content; nil for a function, which holds none.
    private var limit: Int? {
        guard answer?.isSuccess == true else { return Self.longestExplanation }
        return switch place {
        case .array(let limit): limit
        case .memory(let target): target.count
        case .function: nil
        }
    }

    private mutating func take(_ bytes: UnsafeRawBufferPointer) throws(ExchangeFault) {
        guard let answer else { return }
        let size = answer.size + bytes.count
        if let limit, size > limit { throw Self.tooLong }
        if answer.isSuccess {
            switch place {
            case .array: self.answer?.content += bytes
            // Trap: the limit, which was checked, is the size of this memory.
            case .memory(let target): target[answer.size...].copyBytes(from: bytes)
            case .function(let body): body(bytes)
            }
        } else {
            self.answer?.content += bytes
        }
        self.answer?.size = size
    }

    private mutating func end() throws(ExchangeFault) {
        do throws(HTTPFault) {
            try reader.closed()
        } catch {
            throw ExchangeFault(.stream(sendingFailure ?? .truncated))
        }
        // Content up to the end of the connection is complete now.
        guard answer != nil else { throw ExchangeFault(.stream(sendingFailure ?? .truncated)) }
        isOver = true
    }

    private static let tooLong = ExchangeFault(.malformed("The answer is longer than it may be."))
}
