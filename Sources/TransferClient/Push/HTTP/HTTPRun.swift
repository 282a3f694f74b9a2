import TransferHTTP
import TransferIO
import TransferModel
import TransferProtocol

/// One push to an HTTP server, from the first connection to the last report.
actor HTTPRun {
    /// The most connections: several hide the round trips of small files, and browsers open no more than six.
    private static let mostConnections = 4

    nonisolated let unownedExecutor: UnownedSerialExecutor

    private let push: HTTPPush
    private var context: RunContext { push.run }
    private var workers: [HTTPWorker] = []
    private var isOver = false
    private var isCancelled = false

    init(_ context: RunContext, _ web: WebAddress) {
        push = HTTPPush(context, web)
        unownedExecutor = context.loop.asUnownedSerialExecutor()
    }

    func run() async {
        let loop = context.loop
        if let states = context.configuration.uploadStates {
            await context.pool.run { StateFolder(path: states).sweep() }
        }
        let first = HTTPWorker(push)
        workers = [first]
        context.channel.connect(
            onRoom: { Task(executorPreference: loop) { await self.resume() } },
            onCancel: { Task(executorPreference: loop) { await self.cancel() } })
        let others = Task(executorPreference: loop) { await self.openOthers() }
        var outcome = await first.carryOn()
        isOver = true
        push.isReady.fire()
        for other in await others.value {
            if case .complete = outcome { outcome = other }
        }
        context.channel.finish(await result(of: outcome))
    }

    /// Opens further connections once the server has answered, if there is more than one upload.
    ///
    /// - Returns: the outcomes of these connections.
    private func openOthers() async -> [Reconnector.Outcome] {
        await push.isReady.wait()
        let loop = context.loop
        var tasks: [Task<Reconnector.Outcome, Never>] = []
        while !isOver, !isCancelled, workers.count < Self.mostConnections, let upload = await push.next() {
            context.feed.putBack([upload])
            // The push may have ended meanwhile.
            guard !isOver, !isCancelled else { break }
            let worker = HTTPWorker(push)
            workers.append(worker)
            tasks.append(Task(executorPreference: loop) { await worker.carryOn() })
        }
        var outcomes: [Reconnector.Outcome] = []
        for task in tasks { outcomes.append(await task.value) }
        return outcomes
    }

    private func resume() async {
        for worker in workers { await worker.resume() }
    }

    private func cancel() async {
        isCancelled = true
        for worker in workers { await worker.cancel() }
    }
}

// MARK: The end

extension HTTPRun {
    private func result(of outcome: Reconnector.Outcome) async -> Result<Void, TransferFailure> {
        switch outcome {
        case .complete where !isCancelled: return .success(())
        case .complete, .cancelled:
            await giveUp(Failure(.cancelled, "Stopped before it was acknowledged."), all: false)
            return .failure(TransferFailure(reason: .cancelled, message: "The push was stopped."))
        case .failed(let failure, let ending):
            if case .lost = ending {
                // If the client never connected, the failure of the push stands for all uploads, and they get no
                // separate reports.
                guard push.offer != nil else { return .failure(failure) }
                // Another connection may have sent what this one could not.
                guard await giveUp(.connectionLost) else { return .success(()) }
            } else {
                await giveUp(.notSent)
            }
            return .failure(failure)
        }
    }

    /// Reports all uploads without a report.
    ///
    /// - Parameter all: whether to include uploads that the feed has not handed out yet.
    /// - Returns: whether there were uploads without a report.
    @discardableResult
    private func giveUp(_ failure: Failure, all: Bool = true) async -> Bool {
        var hasAny = false
        for upload in context.feed.takeReturned() {
            push.report(.failed(upload, failure))
            hasAny = true
        }
        while all, let upload = await push.next() {
            push.report(.failed(upload, failure))
            hasAny = true
        }
        return hasAny
    }
}
