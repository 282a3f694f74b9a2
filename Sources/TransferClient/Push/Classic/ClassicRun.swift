import TransferClassic
import TransferIO
import TransferModel
import TransferProtocol

/// One push to a server of a classic framing, from the first connection to the last report. After a lost connection,
/// uploads that were not sent completely are sent again; completely sent ones never are.
actor ClassicRun {
    nonisolated let unownedExecutor: UnownedSerialExecutor

    private let context: RunContext
    private let target: ClassicTarget
    private var session: ClassicPushSession?
    private let reconnector: Reconnector
    private(set) var isCancelled = false
    private(set) var hasConnected = false

    init(_ context: RunContext, _ target: ClassicTarget) {
        (self.context, self.target) = (context, target)
        unownedExecutor = context.loop.asUnownedSerialExecutor()
        reconnector = Reconnector(
            context.server, context.configuration, nil, on: context.loop, pool: context.pool,
            leaving: "the files that were not sent")
    }

    func run() async {
        let loop = context.loop
        context.channel.connect(
            onRoom: { Task(executorPreference: loop) { await self.session?.resume() } },
            onCancel: { Task(executorPreference: loop) { await self.cancel() } })
        let outcome = await reconnector.carryOn(self)
        context.channel.finish(await result(of: outcome))
    }

    private func cancel() async {
        isCancelled = true
        await reconnector.cancel()
        await session?.cancel()
    }
}

extension ClassicRun: ReconnectingRun {
    func attempt(at address: SocketAddress, within limit: Interval?) async -> Reconnector.Attempt {
        guard target.isBeyondThisMachine || address.isLocal else {
            let message =
                "\(address) is another machine, and \(target.framing.name) has no encryption. In a "
                + "network without eavesdroppers, push with --plaintext. Nothing was sent."
            return Reconnector.Attempt(ending: .untrusted(message), hasConnected: false, hasProgressed: false)
        }
        let session = ClassicPushSession(context, target, announces: !hasConnected)
        self.session = session
        let ending = await session.converse(with: address, within: limit)
        self.session = nil
        let isThere = await session.hasConnected
        hasConnected = hasConnected || isThere
        return Reconnector.Attempt(
            ending: ending, hasConnected: isThere, hasProgressed: await session.hasProgressed)
    }

    func reconnects(_ reason: String, after interval: Interval) {
        context.channel.send(.reconnecting(reason: reason, after: interval.seconds))
    }

    /// Whether uploads remain to be sent. Sources that cannot be sent are reported here.
    func hasMore() async -> Bool {
        guard !isCancelled, let upload = await next() else { return isCancelled }
        context.feed.putBack([upload])
        return true
    }

    private func next() async -> PendingUpload? {
        let feed = context.feed
        while let item = await context.pool.run({ feed.next() }) {
            switch item {
            case .report(let report): context.channel.send(.finished(report))
            case .upload(let upload): return upload
            }
        }
        return nil
    }
}

// MARK: The end

extension ClassicRun {
    private func result(of outcome: Reconnector.Outcome) async -> Result<Void, TransferFailure> {
        switch outcome {
        case .complete: return .success(())
        case .cancelled:
            await giveUp(Failure(.cancelled, "Stopped before it was acknowledged."), all: false)
            return .failure(TransferFailure(reason: .cancelled, message: "The push was stopped."))
        case .failed(let failure, let ending):
            if case .lost = ending {
                // If the client never connected, the failure of the push stands for all uploads, and they get no
                // separate reports.
                if hasConnected { await giveUp(.connectionLost) }
            } else {
                await giveUp(.notSent)
            }
            return .failure(failure)
        }
    }

    /// Reports all uploads without a report.
    ///
    /// - Parameter all: whether to include uploads that the feed has not handed out yet.
    private func giveUp(_ failure: Failure, all: Bool = true) async {
        for upload in context.feed.takeReturned() { context.channel.send(.finished(.failed(upload, failure))) }
        guard all else { return }
        while let upload = await next() { context.channel.send(.finished(.failed(upload, failure))) }
    }
}
