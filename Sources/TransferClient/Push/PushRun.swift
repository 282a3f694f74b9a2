import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// One push from the first connection to the last report: connects, and after a lost connection connects again with
/// growing waits and replays exactly what was not acknowledged.
actor PushRun {
    nonisolated let unownedExecutor: UnownedSerialExecutor

    private let context: RunContext
    /// The first lane, and where it leads.
    private var session: ClientSession?
    private var address: SocketAddress?
    private var isCancelled = false
    /// Whether the latest attempt ended with the server's name.
    private var isNameLost = false
    private var backoff = Backoff()
    /// Runs from the first loss since the last progress: before, there was nothing to be patient about.
    private var patience: MonotonicTime?
    private var generator = SystemRandomNumberGenerator()
    private let mayGoOn = Signal()
    private let inquiry: TrustInquiry

    init(_ context: RunContext) {
        self.context = context
        unownedExecutor = context.loop.asUnownedSerialExecutor()
        inquiry = TrustInquiry(context.configuration, context.security, on: context.loop)
    }

    func run() async {
        let loop = context.loop
        context.channel.connect(
            onRoom: { Task(executorPreference: loop) { await self.resume() } },
            onCancel: { Task(executorPreference: loop) { await self.cancel() } })
        let opening = Task(executorPreference: loop) { await self.openLanes() }
        let end = await converseUntilDone()
        context.lanes.finish()
        await opening.value
        context.channel.finish(end)
    }

    private func resume() async {
        await session?.resume()
        for lane in context.lanes.sessions { await lane.resume() }
    }

    private func cancel() async {
        isCancelled = true
        mayGoOn.fire()
        await inquiry.cancel()
        await session?.cancel()
        for lane in context.lanes.sessions { await lane.cancel() }
    }

    private func converseUntilDone() async -> Result<Void, PushFailure> {
        while !isCancelled {
            let (ending, session) = await converse()
            self.session = nil
            switch ending {
            case .complete: return .success(())
            case .cancelled: return await cancelled(session)
            case .refused(let result): return await refused(result, session)
            case .unsupported(let message):
                let local = LocalFailure(code: .cancelled, message: "Not sent.")
                return await giveUp(session, PushFailure(reason: .unsupported, message: message), local)
            case .untrusted(let message): return await untrusted(message, session)
            case .unknown(let server):
                guard await inquiry.isTrusted(server) else { return await unknown(server, session) }
            case .fault(let fault):
                return await giveUp(session, .broken(context.server.endpoint, fault))
            case .lost(let reason):
                guard context.lanes.hasConnected else { return .failure(unreachable(reason)) }
                if let end = await pause(session, reason, orElse: { self.unreachable(reason) }) { return end }
            case .paused(let result):
                let hold = Interval.milliseconds(Int64(result.retryAfter ?? 0))
                let failure = { PushFailure.refused(result, triedFor: self.triedFor) }
                if let end = await pause(session, result.message, hold, orElse: failure) { return end }
            }
        }
        return await cancelled(nil)
    }

    /// Waits before the next attempt.
    ///
    /// - Parameters:
    ///   - hold: to be waited at least.
    ///   - failure: when there is no time left for that.
    /// - Returns: how the push ended; nothing when it goes on.
    private func pause(
        _ session: ClientSession?, _ reason: String, _ hold: Interval = Interval(nanoseconds: 0),
        orElse failure: () -> PushFailure
    ) async -> Result<Void, PushFailure>? {
        guard !isCancelled else { return await cancelled(session) }
        if context.lanes.hasConnected, await !hasMore() { return .success(()) }
        if await session?.hasProgressed ?? false {
            patience = nil
            backoff.reset()
        }
        let deadline = patience ?? deadline
        patience = deadline
        return await wait(reason, hold, until: deadline) ? nil : await giveUp(session, failure())
    }

    /// Seconds since the first loss after the last progress.
    private var triedFor: Double {
        guard let patience else { return 0 }
        return max(0, context.configuration.retryFor - (patience - .now).seconds)
    }

    private var deadline: MonotonicTime { .now + .seconds(context.configuration.retryFor) }

    /// Tries the server's addresses in turn until one answers.
    private func converse() async -> (ClientSession.Ending, ClientSession?) {
        let endpoint = context.server.endpoint
        let resolved = await context.pool.run { Result { () throws(ResolutionError) in try endpoint.resolve() } }
        guard case .success(let addresses) = resolved else {
            guard case .failure(let error) = resolved else { return (.lost(""), nil) }
            isNameLost = true
            return (.lost(error.reason), nil)
        }
        isNameLost = false
        var last: (ClientSession.Ending, ClientSession?) = (.lost("The name has no address."), nil)
        for address in addresses {
            let session = ClientSession(context, isFirst: true)
            self.session = session
            self.address = address
            guard !isCancelled else { return (.cancelled, session) }
            context.lanes.open()
            last = (await session.converse(with: address), session)
            await endLanes()
            context.feed.askAgain()
            guard case .lost = last.0, await !session.hasConnected else { break }
        }
        return last
    }

    /// - Returns: false when there is no time left for another attempt.
    private func wait(_ reason: String, _ hold: Interval, until patience: MonotonicTime) async -> Bool {
        let interval = max(hold, backoff.next(using: &generator))
        guard MonotonicTime.now + interval < patience else { return false }
        context.channel.send(.reconnecting(reason: reason, after: interval.seconds))
        let timer = context.loop.schedule(at: (.now + interval).nanoseconds) { [mayGoOn] in mayGoOn.fire() }
        await mayGoOn.wait()
        context.loop.cancel(timer)
        return true
    }

    /// Whether anything is left to push; what cannot be sent is reported on the way. A connection that was lost after
    /// its last result has done its work.
    private func hasMore() async -> Bool {
        let feed = context.feed
        var drops: [PendingUpload] = []
        while !isCancelled, let item = await context.pool.run({ feed.next() }) {
            switch item {
            case .report(let report): context.channel.send(.finished(report))
            // Nothing is connected for that alone: the server throws it away by itself, later.
            case .upload(let upload) where upload.isDrop: drops.append(upload)
            case .upload(let upload):
                feed.putBack(drops + [upload])
                return true
            }
        }
        return isCancelled
    }

    private func unreachable(_ reason: String) -> PushFailure {
        .unreachable(
            context.server.endpoint, reason, isName: isNameLost,
            triedFor: context.lanes.hasConnected ? triedFor : nil)
    }
}

// MARK: Lanes

extension PushRun {
    /// Opens a lane whenever there is work for one more.
    private func openLanes() async {
        while !context.lanes.isOver {
            await context.lanes.wanted.wait()
            guard context.lanes.mayAdd(), let address else { continue }
            let lane = ClientSession(context, isFirst: false)
            context.lanes.add(lane)
            Task(executorPreference: context.loop) { await self.work(on: lane, address) }
        }
    }

    /// The lane counts from here on, though there may be nothing to do for it: while that is looked up, the first lane
    /// must not take the push for done.
    private func work(on lane: ClientSession, _ address: SocketAddress) async {
        var wasLost = false
        if await hasMore() {
            wasLost = await lane.converse(with: address) != .complete
            context.feed.putBack(await lane.takeUnacknowledged())
            // The server may not know yet that the lane is lost, and gives what it was writing to newer ones only.
            if await lane.hasConnected, await lane.hasLostParts { await session?.laneWasLost() }
        }
        context.lanes.remove(lane, wasLost: wasLost)
        await session?.laneEnded()
    }

    /// The first lane is over; the others live no longer. Only where the server has to go they come to their own ends: it
    /// lets each finish what is under way there.
    private func endLanes() async {
        context.lanes.close()
        if !context.lanes.isServerLeaving { for lane in context.lanes.sessions { await lane.cancel() } }
        while !context.lanes.isEmpty { await context.lanes.ended.wait() }
    }
}

// MARK: Trust

extension PushRun {
    private func unknown(_ server: UnknownServer, _ session: ClientSession?) async -> Result<Void, PushFailure> {
        await untrusted(PushFailure.unknown(server).message, session)
    }

    private func untrusted(_ message: String, _ session: ClientSession?) async -> Result<Void, PushFailure> {
        let failure = PushFailure(reason: .untrusted, message: message)
        guard context.lanes.hasConnected else { return .failure(failure) }
        return await giveUp(session, failure)
    }
}

// MARK: Final failures

extension PushRun {
    private func refused(_ result: UploadResult, _ session: ClientSession?) async -> Result<Void, PushFailure> {
        let failure = PushFailure.refused(result)
        guard failure.reason == .refused else { return await giveUp(session, failure) }
        return await giveUp(session, failure, .refused(result.code))
    }

    private func cancelled(_ session: ClientSession?) async -> Result<Void, PushFailure> {
        let failure = PushFailure(reason: .cancelled, message: "The push was stopped.")
        await report(session, LocalFailure(code: .cancelled, message: "Stopped before it was acknowledged."))
        return .failure(failure)
    }

    /// Reports everything that has no report yet, to the last file, so that nobody has to guess what is missing.
    private func giveUp(
        _ session: ClientSession?, _ failure: PushFailure, _ local: LocalFailure = .connectionLost
    ) async -> Result<Void, PushFailure> {
        await report(session, local)
        let feed = context.feed
        while let item = await context.pool.run({ feed.next() }) {
            switch item {
            case .report(let report): context.channel.send(.finished(report))
            case .upload(let upload): report(upload, local)
            }
        }
        return .failure(failure)
    }

    private func report(_ session: ClientSession?, _ failure: LocalFailure) async {
        for upload in await (session?.takeUnacknowledged() ?? []) + context.feed.takeReturned() {
            report(upload, failure)
        }
    }

    /// Of an upload in parts, what has arrived is not lost.
    private func report(_ upload: PendingUpload, _ failure: LocalFailure) {
        let keeps = upload.isResumable ? context.keeps.withLock { $0 } : nil
        context.channel.send(upload) { .failed($0, keeps.map { failure.keeping(seconds: $0) } ?? failure) }
    }
}
