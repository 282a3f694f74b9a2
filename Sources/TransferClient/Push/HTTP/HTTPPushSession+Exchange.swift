import TransferConnection
import TransferHTTP
import TransferIO
import TransferModel

/// Sending requests and receiving their answers.
extension HTTPPushSession {
    /// The most bytes that wait to be sent: reading ahead hides the latency of the disk.
    private static let mostUnsent = 1 << 20

    /// The most bytes of a piece; pieces of this size need few calls and little memory.
    private static let longestPiece = 256 << 10

    /// How long the client waits for the answer to its question whether the server wants content: many servers never
    /// answer it (RFC 9110, section 10.1.1).
    private static let longestContinue = Interval.seconds(1)

    /// How long to wait before a stream without free blocks is read again; there is no signal for that.
    private static let shortPause = Interval.milliseconds(5)

    /// The most redirects of one request: browsers follow 20, and a chain has one or two.
    private static let mostRedirects = 5

    /// Makes a request, and repeats it where the server redirects it.
    func perform(_ head: RequestHead, _ body: HTTPBody) async -> HTTPReply {
        var (head, redirects) = (head, 0)
        while true {
            let reply = await ask(head, body)
            guard case .answer(let answer) = reply else { return reply }
            switch answer.head.status {
            case 417 where push.expectsContinue: push.expectsContinue = false
            case 301, 302, 307, 308:
                redirects += 1
                switch redirect(answer, redirects) {
                case .failure(let failure): return .failed(failure)
                case .success(let target): head = RequestHead(head.method, target, fields: head.fields)
                }
            default: return reply
            }
            guard body.isRepeatable else { return .failed(.notRepeatable) }
            guard isUsable else { return .lost(isAllSent: false) }
        }
    }

    private func redirect(_ answer: HTTPAnswer, _ count: Int) -> Result<String, Failure> {
        guard count <= Self.mostRedirects else { return .failure(.redirected("redirects the request too often.")) }
        guard let reference = answer.head.fields.values("location").first else {
            return .failure(.redirected("redirects the request without a Location."))
        }
        return push.web.target(of: reference, from: answer.target).mapError {
            Failure($0.code, $0.message)
        }
    }

    private func ask(_ head: RequestHead, _ body: HTTPBody) async -> HTTPReply {
        let isAsking = push.expectsContinue && head.method == .put && body.isWorthAsking
        guard let bytes = HeadWriter.bytes(whole(head, body, isAsking)) else {
            return .failed(.unsuitable("Its name or its attributes cannot be part of an HTTP request."))
        }
        guard isUsable else { return .lost(isAllSent: false) }
        exchange = HTTPExchange(target: head.target)
        defer {
            exchange = nil
            watch()
        }
        reader.expect(head.method)
        queue(bytes)
        if isAsking {
            await pause(Self.longestContinue) { $0.isSpent || $0.exchange?.isContinued ?? true || $0.hasAnswer }
        }
        var isWhole = false
        switch await sendBody(body) {
        case .success(let isSent): isWhole = isSent
        case .failure(let failure):
            // A request that is half sent cannot be aborted, so the connection must end.
            if ending == nil { spend() }
            return .failed(failure)
        }
        await awaitAnswer()
        let isAllSent = isWhole && outbound.isEmpty
        guard let answer = exchange?.answer(cut: isAllSent ? nil : contentGone) else {
            return .lost(isAllSent: isAllSent)
        }
        if !isAllSent || reader.isLastAnswer { spend() }
        return .answer(answer)
    }

    /// Waits for the answer. Until it begins, the deadline for silence applies; an answer that has begun must be
    /// complete within `longestAnswer`.
    private func awaitAnswer() async {
        await wait { $0.isSpent || $0.exchange?.isOver ?? true || $0.hasAnswer }
        await pause(.seconds(Self.longestAnswer)) { $0.isSpent || $0.exchange?.isOver ?? true }
        if isUsable, exchange?.isOver == false { end(.lost("the server does not come to the end of its answer")) }
    }

    private var hasAnswer: Bool { exchange?.head != nil }

    private func whole(_ head: RequestHead, _ body: HTTPBody, _ isAsking: Bool) -> RequestHead {
        var fields = HTTPFields()
        fields.append("Host", push.web.hostField)
        fields.append("User-Agent", run.configuration.agent)
        if let authorization = push.authorization { fields.append("Authorization", authorization) }
        for field in head.fields.lines { fields.append(field) }
        switch (body, body.size) {
        case (.none, _) where [.get, .head, .options].contains(head.method): break
        case (_, let size?): fields.append("Content-Length", "\(size)")
        case (_, nil): fields.append("Transfer-Encoding", "chunked")
        }
        if isAsking { fields.append("Expect", "100-continue") }
        return RequestHead(head.method, head.target, fields: fields)
    }

    /// - Returns: whether all content was queued; false if the server has answered before.
    private func sendBody(_ body: HTTPBody) async -> Result<Bool, Failure> {
        switch body {
        case .none: return .success(true)
        case .bytes(let bytes): return .success(await send(bytes))
        case .content(let content): return await send(content)
        }
    }

    /// - Returns: whether all bytes were queued.
    private func send(_ bytes: [UInt8]) async -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            await wait { $0.outbound.count < Self.mostUnsent || !$0.isWanted }
            guard isWanted else { return false }
            let count = await permitted(min(rest.count, Self.longestPiece))
            guard isWanted else { return false }
            current?.queued += UInt64(count)
            if current != nil { run.configuration.traffic?.add(count) }
            queue(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Whether the server still accepts content.
    private var isWanted: Bool { isUsable && !hasSendFailed && !hasAnswer }

    private func permitted(_ count: Int) async -> Int {
        guard let bandwidth = run.bandwidth else { return count }
        while isWanted {
            switch bandwidth.take(atMost: count) {
            case .bytes(let count): return count
            case .waitUntil(let time): await pause(time - .now) { !$0.isWanted }
            }
        }
        return 0
    }

    private func send(_ content: HTTPContent) async -> Result<Bool, Failure> {
        let isChunked = content.size == nil
        var offset: UInt64 = 0
        while isWanted {
            switch await read(content, at: offset, most: Self.longestPiece, unless: { !$0.isWanted }) {
            case .failure(let failure): return .failure(failure)
            case .success(nil): return .success(false)
            case .success(let (piece, isLast)?):
                let head = isChunked ? ChunkWriter.head(UInt64(piece.count)) ?? [] : []
                let isFramed = !head.isEmpty
                if isFramed { queue(head) }
                guard await send(piece) else { return .success(false) }
                if isFramed { queue(ChunkWriter.end) }
                offset += UInt64(piece.count)
                guard isLast else { continue }
                if isChunked { queue(ChunkWriter.last() ?? []) }
                return .success(true)
            }
        }
        return .success(false)
    }

    /// Reads a piece of content on the pool.
    ///
    /// - Returns: nil if the piece is no longer wanted.
    func read(
        _ content: HTTPContent, at offset: UInt64, most: Int, unless isDone: (isolated HTTPPushSession) -> Bool
    ) async -> Result<(bytes: [UInt8], isLast: Bool)?, Failure> {
        while !isDone(self) {
            let read = await run.pool.run {
                Result { () throws(Failure) in try content.piece(at: offset, most: most) }
            }
            switch read {
            case .failure(let failure): return .failure(failure)
            case .success(.more): continue
            case .success(.noRoom): await pause(Self.shortPause)
            case .success(.piece(let bytes, let isLast)): return .success((bytes, isLast))
            }
        }
        return .success(nil)
    }
}

extension WebAddress {
    /// The target of a redirect, if the client may follow it.
    func target(of reference: [UInt8], from target: String) -> Result<String, Failure> {
        switch resolve(reference, from: target) {
        case .target(let target): .success(target)
        case .otherOrigin:
            .failure(
                Failure(
                    .unsuitable,
                    "The server redirects to another server or port. Nothing was sent there, because "
                        + "it could receive this server's password or token. Give its address if you trust it."))
        case .downgrade:
            .failure(
                Failure(.unsuitable, "The server redirects to an address without encryption; nothing was sent there."))
        case .malformed: .failure(Failure(.malformedFrame, "The server redirects to an invalid address."))
        }
    }
}

extension Failure {
    fileprivate static let notRepeatable = Failure(
        .unsuitable,
        "The server redirects the request, and the stream cannot be read again.")

    fileprivate static func redirected(_ words: String) -> Failure {
        Failure(.unsuitable, "The server \(words)")
    }
}
