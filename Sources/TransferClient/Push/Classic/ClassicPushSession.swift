import Synchronization
import TransferClassic
import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol

/// One connection to a server of a classic framing: it sends one upload after the other and turns answers into reports.
/// It lives on the run's loop.
actor ClassicPushSession {
    typealias Ending = ClientSession.Ending

    /// The upload that is under way.
    struct Current {
        let source: ClassicSource
        var verdict: ClassicVerdict?
        var sha256: [UInt8]?
        /// The number of bytes that were queued before this upload.
        let start: UInt64
        /// The value of `taken` from which on the whole upload is sent; nil until the end of the upload is queued.
        var end: UInt64?

        var upload: PendingUpload { source.upload }
    }

    /// The most bytes that wait to be sent: reading ahead hides the latency of the disk.
    private static let mostUnsent = 1 << 20

    /// The most bytes of unsent answers to pings: enough for thousands.
    static let mostReplies = 64 << 10

    /// The bytes received before sending gets a turn, so that a server that sends without pause cannot block uploads.
    private static let turn = 64 << 10

    /// How long to wait before a stream without free blocks is read again; there is no signal for that.
    private static let pause = Interval.milliseconds(5)

    /// How long the server may take to close the connection, if closing it is the only sign that the server has
    /// everything.
    private static let longestFarewell = Interval.seconds(2)

    nonisolated let unownedExecutor: UnownedSerialExecutor
    nonisolated var loop: EventLoop { run.loop }

    let run: RunContext
    let target: ClassicTarget
    let driver: ConnectionDriver
    var machine: ClassicPush
    var outbound = Outbound<Never>()
    /// The bytes queued since the beginning.
    var queued: UInt64 = 0
    /// The bytes that the connection has taken since the beginning.
    var taken: UInt64 { queued - UInt64(outbound.count) }
    /// Answers to pings: `gathered` has those that are not queued yet, `waiting` counts the bytes since all answers
    /// were last sent, and `end` is the offset in `queued` where the last queued answer ends.
    var replies: (gathered: [UInt8], waiting: Int, end: UInt64) = ([], 0, 0)
    var hasSendFailed = false
    var current: Current?
    /// The first bytes of the upload, held back until its first content is ready. So an upload without content is sent
    /// as a whole, and does not look like an upload that was cut off.
    private var unsentHead: [UInt8] = []
    /// An upload that was sent in a framing without answers, and whose report waits for a remark of the server.
    var unanswered: PendingUpload?
    var remark: String?
    var ending: Ending?
    /// Fired when the sending task must check its conditions again.
    let news = Signal()

    private let announces: Bool
    private(set) var hasConnected = false
    /// Whether an upload has ended on this connection.
    var hasProgressed = false
    var hasPeerEnded = false
    /// Whether everything is sent, so that the server may close the connection.
    private(set) var isLeaving = false

    /// - Parameter announces: whether this is the first connection, which is reported.
    init(_ run: RunContext, _ target: ClassicTarget, announces: Bool) {
        (self.run, self.target, self.announces) = (run, target, announces)
        unownedExecutor = run.loop.asUnownedSerialExecutor()
        driver = ConnectionDriver(run.timeouts, turn: Self.turn)
        machine = ClassicPush(target)
    }

    /// Uses the connection until it ends. Incompletely sent uploads are back in the feed when it returns, unless the
    /// ending is final.
    func converse(with address: SocketAddress, within limit: Interval? = nil) async -> Ending {
        if let reason = await connect(to: address, run.timeouts, within: limit) { return ending ?? .lost(reason) }
        hasConnected = true
        if announces { run.channel.send(.connected(server: run.server.description)) }
        establish()
        let reader = Task(executorPreference: run.loop) { await self.readLoop() }
        let writer = Task(executorPreference: run.loop) { await self.writeLoop() }
        send(machine.greeting)
        while ending == nil, let upload = await nextUpload() { await push(upload) }
        await leave()
        await reader.value
        await writer.value
        return ending ?? .complete
    }
}

// MARK: Sending

extension ClassicPushSession {
    private func push(_ pending: PendingUpload) async {
        switch await open(pending) {
        case .failure(let failure): report(.failed(pending, failure))
        case .success(let source):
            guard ending == nil else { return run.feed.putBack([source.upload]) }
            reportUnanswered()
            guard begin(source) else { return }
            await content(of: source)
            await wait { $0.current == nil }
        }
    }

    private func open(_ pending: PendingUpload) async -> Result<ClassicSource, Failure> {
        var upload = pending
        if target.client.wantsSize, case .stream(let stream) = pending.content {
            switch await hold(HeldStream(stream)) {
            case .success(let bytes): upload = pending.holding(bytes)
            case .failure(let failure): return .failure(failure)
            }
        }
        return await run.pool.run { [target, upload] in
            Result { () throws(Failure) in try ClassicSource(upload, target) }
        }
    }

    /// Reads a stream into memory. Only cancelling the push stops it, because the stream cannot be read again on the
    /// next connection.
    private func hold(_ stream: HeldStream) async -> Result<[UInt8], Failure> {
        while ending != .cancelled {
            switch await run.pool.run({ Result { () throws(Failure) in try stream.readOn() } }) {
            case .failure(let failure): return .failure(failure)
            case .success(.whole(let bytes)): return .success(bytes)
            case .success(.more): continue
            case .success(.noRoom): await pause()
            }
        }
        return .failure(.stopped)
    }

    private func pause() async {
        let timer = loop.schedule(at: (MonotonicTime.now + Self.pause).nanoseconds) { [weak self] in
            self?.assumeIsolated { $0.news.fire() }
        }
        await news.wait()
        loop.cancel(timer)
    }

    private func begin(_ source: ClassicSource) -> Bool {
        let name = source.upload.destination.utf8.split(separator: UInt8(ascii: "/")).last
        do throws(Failure) {
            let head = try machine.begin(
                ClassicPush.Declared(
                    name: name.map { String(Substring($0)) } ?? "", kind: source.kind, size: source.size))
            source.upload.begun.add(1, ordering: .relaxed)
            current = Current(source: source, start: queued)
            unsentHead = head
            return true
        } catch {
            report(.failed(source.upload, error))
            return false
        }
    }

    private func content(of source: ClassicSource) async {
        while isOpen {
            await wait { $0.outbound.count < Self.mostUnsent || !$0.isOpen }
            guard isOpen else { return }
            let read = await run.pool.run { Result { () throws(Failure) in try source.next() } }
            guard isOpen else { return }
            switch read {
            case .success(.more): continue
            case .success(.noRoom): await pause()
            case .success(.piece(let piece, isLast: false)): send(takeHead() + carried(piece))
            case .success(.piece(let piece, isLast: true)): return finish(source, piece)
            case .failure(let failure): return abandon(failure)
            }
        }
    }

    /// Frames content for the wire.
    private func carried(_ piece: [UInt8]) -> [UInt8] {
        let bytes = machine.content(piece)
        run.configuration.traffic?.add(bytes.count)
        return bytes
    }

    /// Whether the current upload can go on.
    private var isOpen: Bool { ending == nil && current != nil }

    /// - Parameter piece: the last piece, which may be empty.
    private func finish(_ source: ClassicSource, _ piece: [UInt8]) {
        source.upload.size = source.count
        let sha256 = source.digest()
        let bytes = takeHead() + carried(piece) + machine.finish(sha256: sha256)
        current?.sha256 = sha256
        current?.end = queued + UInt64(bytes.count)
        send(bytes)
        settleUnanswered()
        watch()
    }

    /// Reports an upload that cannot, or need not, be sent completely.
    func abandon(_ failure: Failure) {
        guard let upload = current?.upload else { return }
        current = nil
        report(.failed(upload, failure))
        takeBack(failure.message)
    }

    /// Aborts the upload on the wire, or ends the connection if the framing cannot abort an upload.
    func takeBack(_ reason: String) {
        guard let bytes = machine.abandon(reason) else { return end(.lost("an upload was not sent to its end")) }
        send(takeHead() + bytes)
    }

    private func takeHead() -> [UInt8] {
        defer { unsentHead = [] }
        return unsentHead
    }

    /// Says goodbye. If no answer confirms the last upload, it waits for the server to close the connection.
    private func leave() async {
        if ending == nil { send(machine.farewell) }
        if ending == nil, !target.client.isAnswered, unanswered != nil {
            isLeaving = true
            await wait { $0.outbound.isEmpty || $0.hasSendFailed }
            driver.socket?.endSending()
            let timer = loop.schedule(at: (MonotonicTime.now + Self.longestFarewell).nanoseconds) { [weak self] in
                self?.assumeIsolated { $0.peerEnded() }
            }
            await wait { $0.hasPeerEnded }
            loop.cancel(timer)
        }
        end(.complete)
        settle()
    }
}
