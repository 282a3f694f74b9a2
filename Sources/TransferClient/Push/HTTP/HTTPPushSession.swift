import TransferConnection
import TransferHTTP
import TransferIO
import TransferModel
import TransferProtocol

/// One connection to an HTTP server: it makes one request after the other and turns the answers into reports. It lives
/// on the run's loop.
actor HTTPPushSession {
    typealias Ending = ClientSession.Ending

    /// How a connection ended, and whether another one continues.
    enum End {
        case final(Ending)
        /// The connection takes no further requests, as is usual in HTTP; the push continues over the next connection.
        case spent
    }

    nonisolated let unownedExecutor: UnownedSerialExecutor
    nonisolated var loop: EventLoop { push.run.loop }

    let push: HTTPPush
    var run: RunContext { push.run }
    let driver: ConnectionDriver
    var outbound = Outbound<Never>()
    var reader = ResponseReader()
    var hasSendFailed = false
    var ending: Ending?
    /// Whether the connection takes no further requests.
    var isSpent = false
    /// The request that has no complete answer yet; nil between requests.
    var exchange: HTTPExchange?
    /// The upload under way, the number of bytes that were sent of it before this request, and the number of bytes that
    /// this request has queued.
    var current: (upload: PendingUpload, before: UInt64, queued: UInt64)?
    /// Fired when the sending task must check its conditions again.
    let news = Signal()

    private(set) var hasConnected = false
    /// Whether a request was answered on this connection.
    var hasAnswered = false
    /// Whether an upload has made progress on this connection.
    var hasProgressed = false

    init(_ push: HTTPPush) {
        self.push = push
        unownedExecutor = push.run.loop.asUnownedSerialExecutor()
        driver = ConnectionDriver(push.run.timeouts)
    }

    /// Uses the connection until it ends. Uploads without a result are back in the feed when it returns.
    func converse(with address: SocketAddress, within limit: Interval? = nil) async -> End {
        if let reason = await connect(to: address, run.timeouts, within: limit) {
            return .final(ending ?? .lost(reason))
        }
        if let socket = driver.socket { await secure(socket) }
        guard ending == nil else {
            close()
            return .final(ending ?? .cancelled)
        }
        hasConnected = true
        establish()
        let reader = Task(executorPreference: loop) { await self.readLoop() }
        let writer = Task(executorPreference: loop) { await self.writeLoop() }
        if push.offer == nil { await discover() }
        var isFirst = true
        while isUsable, let upload = await nextUpload() {
            if isFirst { push.isReady.fire() }
            isFirst = false
            await send(upload)
        }
        let outcome = ending.map { End.final($0) } ?? (isSpent ? .spent : .final(.complete))
        end(.complete)
        await reader.value
        await writer.value
        return outcome
    }

    private func secure(_ socket: StreamSocket) async {
        let greeting = ServerGreeting(server: run.server, security: run.security, pool: run.pool)
        if let reason = await greeting.secure(socket, hasConnected: push.offer != nil, unless: { ending != nil }) {
            end(reason)
        }
    }

    /// Whether another request can be made.
    var isUsable: Bool { !isEnding }

    /// Makes no further requests over this connection.
    func spend() {
        isSpent = true
        close()
        news.fire()
    }

    /// Waits for the interval, or until the connection has ended or `isDone` returns true.
    func pause(_ interval: Interval, orUntil isDone: (isolated HTTPPushSession) -> Bool = { _ in false }) async {
        let end = MonotonicTime.now + interval
        let timer = loop.schedule(at: end.nanoseconds) { [weak self] in
            self?.assumeIsolated { $0.news.fire() }
        }
        while ending == nil, !isDone(self), MonotonicTime.now < end { await news.wait() }
        loop.cancel(timer)
    }
}

/// Sending, receiving and deadlines of the connection.
extension HTTPPushSession: PushSession {
    /// Seconds that a server may take to answer a complete request: some servers copy or sync the content first.
    static let longestAnswer = 120.0

    var isEnding: Bool { ending != nil || isSpent }

    func flushed() {
        watch()
        progress()
        news.fire()
    }

    /// Does nothing, because HTTP/1.1 has no pings.
    func sendPing() {}

    func queue(_ bytes: [UInt8]) {
        outbound.append(bytes)
        watch()
        flush()
    }

    func establish() {
        driver.liveness.timeouts.heartbeat = Interval(nanoseconds: .max)
        driver.liveness.established(now: .now)
        watch()
    }

    /// Watches for silence only while the server has bytes to read or an answer to send.
    func watch() {
        guard !driver.isOver else { return }
        let usual = run.configuration.silenceTimeout
        driver.liveness.timeouts.silence = .seconds(hasUnsent ? usual : max(usual, Self.longestAnswer))
        driver.liveness.pauseReading(!hasUnsent && exchange == nil, now: .now)
        armTimer()
    }

    /// The number of bytes of this request's content that were sent.
    var contentGone: UInt64 {
        guard let queued = current?.queued else { return 0 }
        return queued - min(queued, UInt64(outbound.count))
    }

    private func progress() {
        guard let current, !run.channel.isFull else { return }
        let bytes = min(current.upload.size ?? .max, current.before.addingClamped(contentGone))
        run.channel.send(
            .progress(UploadProgress(source: current.upload.label, bytes: bytes, size: current.upload.size)))
    }
}

// MARK: Receiving

extension HTTPPushSession {
    func readLoop() async {
        let hasEnded = await read(holding: ResponseReader.window + (64 << 10)) { bytes in parse(bytes) }
        if hasEnded { peerEnded() }
    }

    /// Handles the end of the connection, which may be the end of an answer as well.
    private func peerEnded() {
        do throws(HTTPFault) {
            try reader.closed()
            if exchange?.head != nil { _ = parse(UnsafeRawBufferPointer(start: nil, count: 0)) }
        } catch {
            return end(.lost("the server closed the connection"))
        }
        spend()
    }

    /// - Returns: the number of parsed bytes.
    private func parse(_ bytes: UnsafeRawBufferPointer) -> Int {
        var consumed = 0
        do throws(HTTPFault) {
            while !isEnding {
                let shown = UnsafeRawBufferPointer(rebasing: bytes[consumed...])
                let (step, count) = try reader.next(shown)
                consumed += count
                guard step != .needsMore else { return consumed }
                take(step, shown)
                if exchange?.isOver ?? true, consumed == bytes.count { return consumed }
            }
        } catch {
            // Some servers send a message before they close an idle connection.
            guard exchange != nil else {
                spend()
                return bytes.count
            }
            end(.fault(ProtocolFault(.malformedFrame, error.message)))
        }
        return consumed
    }

    private func take(_ step: ResponseStep, _ bytes: UnsafeRawBufferPointer) {
        switch step {
        case .needsMore: break
        case .informational(let head): takeInterim(head)
        case .head(let head, _): exchange?.head = head
        case .content(let range): take(UnsafeRawBufferPointer(rebasing: bytes[range]))
        case .end:
            exchange?.isOver = true
            hasAnswered = true
        }
        news.fire()
    }

    /// The most interim answers to one request (RFC 9110, section 15.2). A server that sends one every few seconds
    /// reaches this number only after an hour or more.
    private static let mostInterim = 1000

    private func takeInterim(_ head: ResponseHead) {
        if head.status == 100 { exchange?.isContinued = true }
        exchange?.interim += 1
        guard let count = exchange?.interim, count > Self.mostInterim else { return }
        end(.fault(ProtocolFault(.malformedFrame, "The server sends \(head.statusText) too often.")))
    }

    private func take(_ content: UnsafeRawBufferPointer) {
        guard let exchange else { return }
        let room = max(0, HTTPAnswer.mostKept - exchange.body.count)
        self.exchange?.body += content.prefix(room)
        self.exchange?.bodySize += content.count
        if exchange.bodySize + content.count > HTTPAnswer.mostRead {
            end(.fault(ProtocolFault(.frameTooLarge, "An answer has more than \(HTTPAnswer.mostRead) bytes.")))
        }
    }
}
