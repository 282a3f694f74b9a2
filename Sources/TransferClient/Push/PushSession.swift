import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol

/// One connection of a push to a server that does not speak this protocol: one upload goes after the other, on the run's loop.
protocol PushSession: DrivenConnection {
    var run: RunContext { get }

    /// What waits for the server.
    var outbound: Outbound<Never> { get set }

    /// Whether the server takes nothing more.
    var hasSendFailed: Bool { get set }

    /// Why it is over; nothing while it is not.
    var ending: ClientSession.Ending? { get set }

    /// Fired when the one who sends has to look again.
    var news: Signal { get }

    /// Tells what became of an upload.
    func report(_ report: UploadReport)
}

extension PushSession {
    func cancel() { end(.cancelled) }

    /// The reader of the events has caught up.
    func resume() { news.fire() }

    func end(_ reason: ClientSession.Ending) {
        guard ending == nil else { return }
        ending = reason
        close()
        news.fire()
    }

    func close() {
        stopTimer()
        driver.close()
        driver.wake.fire()
    }

    func wait(until isDone: (isolated Self) -> Bool) async {
        while ending == nil, !isDone(self) { await news.wait() }
    }

    /// - Returns: nothing when all is done, or the session is over.
    func nextUpload() async -> PendingUpload? {
        while run.channel.isFull, !isEnding { await news.wait() }
        let feed = run.feed
        while !isEnding, let item = await run.pool.run({ feed.next() }) {
            switch item {
            case .report(let found): report(found)
            case .upload(let upload):
                guard isEnding else { return upload }
                feed.putBack([upload])
            }
        }
        return nil
    }
}

// MARK: The connection

extension PushSession {
    var isWorking: Bool { false }

    var hasUnsent: Bool { !outbound.isEmpty && !hasSendFailed }

    func drain(into socket: StreamSocket) throws(StreamError) -> Bool {
        let before = outbound.count
        try outbound.drain { (bytes) throws(StreamError) in try socket.send(bytes) }
        guard outbound.count < before else { return false }
        // A server that takes something is alive, though it says nothing before the end.
        driver.liveness.received(0, now: .now)
        return true
    }

    /// The server may have said why before it closed; the reader will find that, or the end.
    func sendingFailed(_ error: StreamError) {
        hasSendFailed = true
        news.fire()
    }

    func broke(_ fault: ProtocolFault) { end(fault.code.isRetryable ? .lost(fault.message) : .fault(fault)) }

    func lost(_ reason: String) { end(.lost(reason)) }
}
