import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// One push from the first connection to the last report. After a lost connection, it connects again with growing
/// waits, and sends exactly what was not acknowledged.
actor PushRun {
    nonisolated let unownedExecutor: UnownedSerialExecutor

    private let context: RunContext
    /// The first lane, and the address that it uses.
    private var session: ClientSession?
    private var address: SocketAddress?
    /// The previous first lane, as long as it may have uploads.
    private var latest: ClientSession?
    private(set) var isCancelled = false
    private let reconnector: Reconnector
    /// The number of lanes opened besides the first.
    private var lanesOpened = 0

    init(_ context: RunContext) {
        self.context = context
        unownedExecutor = context.loop.asUnownedSerialExecutor()
        reconnector = Reconnector(
            context.server, context.configuration, context.security, on: context.loop, pool: context.pool,
            leaving: "the files that are not acknowledged")
    }

    func run() async {
        let loop = context.loop
        context.channel.connect(
            onRoom: { Task(executorPreference: loop) { await self.resume() } },
            onCancel: { Task(executorPreference: loop) { await self.cancel() } })
        let opening = Task(executorPreference: loop) { await self.openLanes() }
        let end = await result(of: reconnector.carryOn(self))
        context.lanes.finish()
        await opening.value
        if let sealing = context.sealing { await context.pool.run { sealing.settle() } }
        context.channel.finish(end)
    }

    private func resume() async {
        await session?.resume()
        for lane in context.lanes.sessions { await lane.resume() }
    }

    private func cancel() async {
        isCancelled = true
        await reconnector.cancel()
        await session?.cancel()
        for lane in context.lanes.sessions { await lane.cancel() }
    }
}

// MARK: Connecting

extension PushRun: ReconnectingRun {
    var hasConnected: Bool { context.lanes.hasConnected }

    func attempt(at address: SocketAddress, within limit: Interval?) async -> Reconnector.Attempt {
        let session = ClientSession(context)
        (self.session, self.address) = (session, address)
        context.lanes.open()
        context.feed.share(context.lanes.sharing)
        let ending = await session.converse(with: address, within: limit)
        await endLanes()
        context.feed.askAgain()
        (self.session, latest) = (nil, session)
        return Reconnector.Attempt(
            ending: ending, hasConnected: await session.hasConnected, hasProgressed: await session.hasProgressed)
    }

    func reconnects(_ reason: String, after interval: Interval) {
        context.channel.send(.reconnecting(reason: reason, after: interval.seconds))
    }

    /// Whether uploads remain to be sent. Sources that cannot be sent are reported here. If no uploads remain, the push
    /// is complete although the connection was lost.
    func hasMore() async -> Bool {
        let feed = context.feed
        var drops: [PendingUpload] = []
        while !isCancelled, let item = await context.pool.run({ feed.next() }) {
            switch item {
            case .report(let report): context.channel.send(.finished(report))
            // A request to discard is not worth a connection: the server discards old parts by itself.
            case .upload(let upload) where upload.isDrop: drops.append(upload)
            case .upload(let upload):
                feed.putBack(drops + [upload])
                return true
            }
        }
        return isCancelled
    }

    private func result(of outcome: Reconnector.Outcome) async -> Result<Void, TransferFailure> {
        switch outcome {
        case .complete: return .success(())
        case .cancelled: return await cancelled()
        case .failed(let failure, let ending):
            switch ending {
            case .refused(let result) where failure.reason == .refused:
                return await giveUp(failure, .refused(result.code))
            case .unsupported where hasConnected:
                return await giveUp(failure, Failure(.cancelled, "Not sent."))
            // If the client never connected, the failure of the push stands for all uploads, and they get no separate
            // reports.
            case .lost, .untrusted, .unknown, .unsupported:
                return hasConnected ? await giveUp(failure) : .failure(failure)
            case .refused, .paused, .fault, .complete, .cancelled: return await giveUp(failure)
            }
        }
    }
}

// MARK: Lanes

extension PushRun {
    /// Opens another lane whenever there is work for one.
    private func openLanes() async {
        while !context.lanes.isOver {
            await context.lanes.wanted.wait()
            let link = session.flatMap { $0.assumeIsolated { $0.link } }
            while let address, context.lanes.mayAdd(over: link) {
                lanesOpened += 1
                let lane = ClientSession(context, number: lanesOpened)
                context.lanes.add(lane)
                Task(executorPreference: context.loop) { await self.work(on: lane, address) }
                guard context.lanes.opensSeveral else { break }
            }
        }
    }

    /// Runs a lane. The lane counts as open even before work is found for it, so that the first lane does not end the
    /// push meanwhile.
    private func work(on lane: ClientSession, _ address: SocketAddress) async {
        var wasLost = false
        let hasFoundWork = await hasMore()
        context.lanes.found(work: hasFoundWork)
        if hasFoundWork {
            let ending = await lane.converse(with: address)
            // The end of a lane says nothing about the server if the client has ended the lane, unless the lane has
            // lost parts.
            let (isGivenUp, hasLostParts) = await lane.whyItEnded
            wasLost = ending != .complete && ending != .cancelled && (hasLostParts || !isGivenUp)
            context.feed.putBack(await lane.takeUnacknowledged())
            await lostParts(of: lane)
        }
        context.lanes.remove(lane, wasLost: wasLost)
        await session?.laneEnded()
    }

    /// Makes all lanes connect again after a lane was lost in the middle of a part: the server may not have noticed the
    /// loss, and accepts the part only from newer lanes. A lane on which the server never answered is no reason for
    /// that, because the server may have refused everything on it.
    private func lostParts(of lane: ClientSession) async {
        guard await lane.hasLostParts else { return }
        guard await lane.hasConnected else {
            context.lanes.hasDoubtfulParts = true
            return
        }
        await session?.laneWasLost()
    }

    /// Ends the other lanes after the first one. If the server is stopping, they end by themselves, because it lets
    /// each finish the uploads under way.
    private func endLanes() async {
        context.lanes.close()
        if !context.lanes.isServerLeaving { for lane in context.lanes.sessions { await lane.cancel() } }
        while !context.lanes.isEmpty { await context.lanes.ended.wait() }
    }
}

// MARK: Final failures

extension PushRun {
    private func cancelled() async -> Result<Void, TransferFailure> {
        let failure = TransferFailure(reason: .cancelled, message: "The push was stopped.")
        await report(Failure(.cancelled, "Stopped before it was acknowledged."))
        return .failure(failure)
    }

    /// Reports every upload without a report, down to the last file, so that the caller knows what is missing.
    private func giveUp(
        _ failure: TransferFailure, _ local: Failure = .connectionLost
    ) async -> Result<Void, TransferFailure> {
        await report(local)
        let feed = context.feed
        while let item = await context.pool.run({ feed.next() }) {
            switch item {
            case .report(let report): context.channel.send(.finished(report))
            case .upload(let upload): report(upload, local)
            }
        }
        return .failure(failure)
    }

    private func report(_ failure: Failure) async {
        for upload in await (latest?.takeUnacknowledged() ?? []) + context.feed.takeReturned() {
            report(upload, failure)
        }
        while let upload = context.feed.takeNextOfFolders() { report(upload, failure) }
    }

    /// Reports a failed upload. Parts that have arrived remain on the server for a while.
    private func report(_ upload: PendingUpload, _ failure: Failure) {
        let keeps = upload.isResumable ? context.keeps.withLock { $0 } : nil
        context.channel.send(upload) { upload in
            var report = UploadReport.failed(upload, keeps.map { failure.keeping(seconds: $0) } ?? failure)
            report.keptFor = keeps
            return report
        }
    }
}
