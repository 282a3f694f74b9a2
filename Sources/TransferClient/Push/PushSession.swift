import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol

/// One connection of a push to a server that does not speak Transfer's protocol; it sends one upload after the other,
/// on the run's loop.
protocol PushSession: DrivenConnection {
    var run: RunContext { get }

    /// The bytes that wait to be sent.
    var outbound: Outbound<Never> { get set }

    /// Whether the server accepts no more bytes.
    var hasSendFailed: Bool { get set }

    /// The reason why it has ended; nil until then.
    var ending: ClientSession.Ending? { get set }

    /// Fired when the sending task must check its conditions again.
    var news: Signal { get }

    /// Sends the report on an upload to the caller.
    func report(_ report: UploadReport)
}

extension PushSession {
    func cancel() { end(.cancelled) }

    /// Continues when the consumer of the events has caught up.
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

    /// - Returns: nil if no upload remains, or the session has ended.
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
        // A server that takes bytes is alive, although it answers only at the end.
        driver.liveness.received(0, now: .now)
        return true
    }

    /// Does not end the session: the server may have stated a reason before it closed the connection, and the reader
    /// finds that reason, or the end of the connection.
    func sendingFailed(_ error: StreamError) {
        hasSendFailed = true
        news.fire()
    }

    func broke(_ fault: ProtocolFault) { end(fault.code.isRetryable ? .lost(fault.message) : .fault(fault)) }

    func lost(_ reason: String) { end(.lost(reason)) }
}
