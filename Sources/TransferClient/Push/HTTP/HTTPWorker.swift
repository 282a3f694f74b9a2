import TransferHTTP
import TransferIO
import TransferModel
import TransferProtocol

/// Runs a part of a push over HTTP, over one connection after the other, beside other workers. Each worker reconnects
/// by itself.
actor HTTPWorker {
    nonisolated let unownedExecutor: UnownedSerialExecutor

    private let push: HTTPPush
    private var session: HTTPPushSession?
    private let reconnector: Reconnector
    private(set) var isCancelled = false

    init(_ push: HTTPPush) {
        self.push = push
        unownedExecutor = push.run.loop.asUnownedSerialExecutor()
        let run = push.run
        reconnector = Reconnector(
            run.server, run.configuration, run.security, on: run.loop, pool: run.pool,
            leaving: "the files that were not sent")
    }

    func carryOn() async -> Reconnector.Outcome { await reconnector.carryOn(self) }

    func cancel() async {
        isCancelled = true
        await reconnector.cancel()
        await session?.cancel()
    }

    func resume() async { await session?.resume() }
}

extension HTTPWorker: ReconnectingRun {
    var hasConnected: Bool { push.offer != nil }

    func attempt(at address: SocketAddress, within limit: Interval?) async -> Reconnector.Attempt {
        guard push.web.isSecure || !push.run.configuration.isPlainOnlyHere || address.isLocal else {
            let message =
                "\(address) is another machine, and http:// has no encryption. In a network without "
                + "eavesdroppers, push with --plaintext. Nothing was sent."
            return Reconnector.Attempt(ending: .untrusted(message), hasConnected: false, hasProgressed: false)
        }
        var (isFirst, hasProgressed) = (true, false)
        while true {
            let session = HTTPPushSession(push)
            self.session = session
            // Only the first connection needs the limit: later ones follow only after the server has answered.
            let end = await session.converse(with: address, within: isFirst ? limit : nil)
            isFirst = false
            self.session = nil
            let (isUseful, isFurther) = await (session.hasAnswered, session.hasProgressed)
            hasProgressed = hasProgressed || isFurther
            let ending: Reconnector.Ending
            switch end {
            // Without this condition, a server that closes every connection without an answer would be tried for ever.
            case .spent where isUseful && !isCancelled: continue
            case .spent: ending = isCancelled ? .cancelled : .lost("the server closed the connection")
            case .final(let reason): ending = reason
            }
            return Reconnector.Attempt(
                ending: ending, hasConnected: await session.hasConnected, hasProgressed: hasProgressed)
        }
    }

    func reconnects(_ reason: String, after interval: Interval) {
        push.run.channel.send(.reconnecting(reason: reason, after: interval.seconds))
    }

    /// Whether uploads remain to be sent. Sources that cannot be sent are reported here.
    func hasMore() async -> Bool {
        guard !isCancelled, let upload = await push.next() else { return isCancelled }
        push.run.feed.putBack([upload])
        return true
    }
}

extension HTTPPush {
    /// The next upload of the feed. Sources that cannot be sent are reported here.
    func next() async -> PendingUpload? {
        let feed = run.feed
        while let item = await run.pool.run({ feed.next() }) {
            switch item {
            case .report(let found): report(found)
            case .upload(let upload): return upload
            }
        }
        return nil
    }
}
