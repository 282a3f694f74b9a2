import Glibc
import Synchronization
import TransferCodec
import TransferConnection
import TransferIO
import TransferKeys
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferSystem

/// One connection to the server: it sends the producer's chunks, of which a bounded number waits, and turns the
/// server's frames into reports. It lives on the run's loop.
actor ClientSession {
    /// The reason why the connection ended.
    enum Ending: Sendable, Equatable {
        /// All uploads have their reports.
        case complete
        /// The connection broke or the server is stopping; a retry can help.
        case lost(String)
        /// The server blocks this address for a while; the result states for how long.
        case paused(UploadResult)
        /// The server ended the connection, and a retry cannot help.
        case refused(UploadResult)
        /// The server does not support what was asked for; the sentence says what.
        case unsupported(String)
        /// The server may be the wrong one. The sentence says why, and the remedy how to connect nevertheless.
        case untrusted(String, Remedy? = nil)
        /// The client does not know the server, and would have to trust it.
        case unknown(UnknownServer)
        /// The server broke the protocol.
        case fault(ProtocolFault)
        case cancelled
    }

    /// The most chunks that wait to be sent or compressed in addition to the one being filled: reading ahead hides the
    /// latency of the disk, and several are compressed at once.
    private static let mostChunksAhead = 4

    /// The most open questions about uploads: enough to hide the round trip, and few enough that files are sent one
    /// after the other.
    private static let mostQuestions = 8

    private static let noReceipts =
        "The server gives no receipts: it is older, or is configured not to make uploads durable. Nothing was sent."

    nonisolated let unownedExecutor: UnownedSerialExecutor
    nonisolated var loop: EventLoop { run.loop }

    let run: RunContext

    /// The lane's number within its push; 0 is the first lane, which stays to the end of the push. Others leave when
    /// they find no work.
    nonisolated let number: Int

    private var isFirst: Bool { number == 0 }
    let producer: LaneProducer
    let driver: ConnectionDriver
    private var parser = FrameParser()
    var machine: ClientConnection
    var queue = SendQueue()
    var governor: CompressionGovernor
    let uploads: LaneUploads
    /// The bytes in chunks since this lane requested another one; `worthwhile` bytes justify the next request.
    private var produced = 0
    /// Whether sources are being read, which may take any time.
    private(set) var isFilling = false
    private var worthwhile = Lanes.worthwhile.lowerBound
    var isLeaving = false
    /// Whether this lane begins no more uploads because there are too many lanes.
    private(set) var isRetired = false
    var hasSendFailed = false
    /// Whether the queue waits only for the rate limit.
    var isWaitingForTime = false
    var ending: Ending?

    private var news: ProducerNews { uploads.news }
    var mayProduce: Signal { news.mayProduce }

    /// The limit of unsent bytes in the kernel. A connection begins with the limit for distant servers.
    private var unsent = StreamSocket.Unsent.far

    /// Whether the server has answered.
    var hasConnected = false

    /// Whether the server can compare whole folders.
    private var comparesFolders = false

    /// Whether the server has said that it accepts holes.
    private var takesHoles = false

    /// Whether an upload has made progress on this connection; if so, the time for retries starts again.
    var hasProgressed: Bool { uploads.hasProgressed }

    /// Whether the push ended this lane because the server had not answered on it when there was no other work.
    private(set) var isGivenUp = false

    /// Whether the connection was lost in the middle of a part that the server may still keep for it.
    var hasLostParts = false

    /// Both `isGivenUp` and `hasLostParts`, read together.
    var whyItEnded: (isGivenUp: Bool, hasLostParts: Bool) { (isGivenUp, hasLostParts) }

    /// - Parameter number: the lane's number within its push.
    init(_ run: RunContext, number: Int = 0) {
        self.run = run
        self.number = number
        unownedExecutor = run.loop.asUnownedSerialExecutor()
        uploads = LaneUploads(run)
        producer = LaneProducer(feed: run.feed, configuration: run.configuration, sealing: run.sealing)
        machine = ClientConnection(features: run.configuration.wantsReceipts ? .receipts : [])
        driver = ConnectionDriver(run.timeouts)
        governor = CompressionGovernor(run.configuration.compressionMode)
    }

    /// Uses the connection until it ends. Uploads that were begun and have no result are back in the feed when it
    /// returns, unless the ending is final.
    ///
    /// - Parameters:
    ///   - address: the address to connect to.
    ///   - limit: the most time for connecting and the handshake together; nil for the normal deadline.
    func converse(with address: SocketAddress, within limit: Interval? = nil) async -> Ending {
        if let reason = await connect(to: address, run.timeouts, within: limit) { return ending ?? .lost(reason) }
        if let socket = driver.socket { await secure(socket) }
        if let ending {
            stopTimer()
            return ending
        }
        send(.hello(hello))
        let reader = Task(executorPreference: run.loop) { await self.readLoop() }
        let writer = Task(executorPreference: run.loop) { await self.writeLoop() }
        await produceLoop()
        await finish()
        await reader.value
        await writer.value
        return ending ?? .complete
    }

    /// Takes the uploads that were begun and have no result, in order.
    func takeUnacknowledged() -> [PendingUpload] {
        uploads.takeAll()
    }

    /// Ends the connection at once.
    func cancel() {
        end(.cancelled)
    }

    /// Continues when the consumer of the events has caught up.
    func resume() {
        mayProduce.fire()
    }

    /// Begins no more uploads, and ends when those that it has begun have their results.
    func retire() {
        guard !isRetired else { return }
        isRetired = true
        tellProducer()
    }

    /// Limits the unsent bytes in the kernel; called often, and usually with the same limit.
    func bound(_ unsent: StreamSocket.Unsent) {
        guard unsent != self.unsent, let socket = driver.socket else { return }
        socket.bound(unsent)
        self.unsent = unsent
    }

    /// TCP's measurements of the connection.
    var link: LinkReading? { driver.socket?.link }

    /// Checks for work after another lane has ended, which may have given uploads back.
    func laneEnded() {
        tellProducer()
    }

    /// Ends this lane after a newer one was lost in the middle of a part: the server accepts this part only from lanes
    /// that are newer still. All lanes connect again.
    func laneWasLost() {
        end(.lost("one of the connections was lost"))
    }

    /// Ends this lane, because the server has not answered on it and the push waits for nothing else.
    func giveUp() {
        isGivenUp = true
        end(.lost("the server did not answer"))
    }

    func end(_ reason: Ending) {
        guard ending == nil else { return }
        ending = reason
        if isFirst { run.lanes.close() }
        mayProduce.fire()
        // A lane that is complete still sends its goodbye. After any other end, no further frame is sent or waited for.
        if reason != .complete { close() }
    }

    /// Stops sending. Waiting chunks are dropped, because other lanes of the push, or this session's own producer, may
    /// need their buffers.
    func close() {
        driver.close()
        queue = SendQueue()
    }
}

// MARK: Producing

extension ClientSession {
    private func produceLoop() async {
        while ending == nil {
            if isIdle {
                guard isFirst, !run.lanes.isEmpty else {
                    return end(run.lanes.isServerLeaving ? .lost("the server is stopping") : .complete)
                }
                // Other lanes may still be at work, but a lane without the server's answer only delays the end.
                run.lanes.endUnanswered()
            }
            guard mayFill else {
                await mayProduce.wait()
                continue
            }
            isFilling = true
            defer { isFilling = false }
            let chunks = await takeChunks()
            let orders = LaneProducer.Orders(
                allowance: allowance, answer: uploads.answer,
                questions: Self.mostQuestions - uploads.questions.count,
                lookups: run.lanes.lookups.orders(open: machine.lookups, folders: folderRoom),
                onlyUnderWay: run.lanes.isServerLeaving, beginsNothing: isRetired, takesHoles: takesHoles,
                mostContent: run.lanes.chunkContent)
            let newsBefore = news.count
            let next = await run.pool.run { [producer] in producer.fill(chunks, orders) }
            // If an answer has arrived meanwhile, it may be the one that the producer would wait for.
            news.producing = news.count == newsBefore ? next : .more
            for chunk in chunks { take(chunk) }
        }
    }

    /// Takes empty chunks to fill: two, which saves a change of thread, if enough bytes are queued meanwhile.
    private func takeChunks() async -> [OutgoingChunk] {
        let first = newChunk(await run.buffers.take())
        guard !queue.isEmpty, queue.chunkCount + 2 <= chunksAhead, let second = run.buffers.takeNow() else {
            return [first]
        }
        return [first, newChunk(second)]
    }

    /// The most chunks that wait. With many lanes, each lane has fewer. Besides the waiting ones, one chunk is being
    /// filled, and one is being compressed.
    private var chunksAhead: Int {
        if let chunks = run.lanes.chunksAhead { return chunks }
        let share = TransferClient.mostBuffers / (1 + run.lanes.sessions.count) - 2
        return min(max(1, share), Self.mostChunksAhead)
    }

    private func newChunk(_ buffer: BlockBuffer) -> OutgoingChunk {
        OutgoingChunk(buffer)
    }

    private var mayFill: Bool {
        news.producing == .more && queue.chunkCount < chunksAhead && !run.channel.isFull
    }

    /// How many uploads may begin now. An upload that has begun continues while others are held back.
    private var allowance: Int {
        // Only `welcome` says whether the server gives receipts and has mailboxes; no upload that needs them is sent
        // before.
        let isKnown = uploads.inspector != nil || !run.configuration.wantsReceipts
        let mayBegin = isKnown && (hasConnected || run.configuration.recipients.isEmpty)
        let isWelcome = !isLeaving && !isRetired && run.lanes.acceptance != .nothing
        return mayBegin && isWelcome && uploads.heldUntil <= .now ? machine.allowance : 0
    }

    /// The limits of questions about folders; nil if they are not wanted or not supported.
    private var folderRoom: FolderRoom? {
        let configuration = run.configuration
        guard comparesFolders, configuration.asksByFolder, !configuration.wantsReceipts,
            configuration.recipients.isEmpty,
            !isLeaving, !isRetired
        else { return nil }
        return uploads.heldUntil <= .now ? uploads.folders.room(of: run.lanes.lookups.folderWindow) : FolderRoom.none
    }

    /// Whether this lane is done: everything that it sent has a result, and it will send no more.
    private var isIdle: Bool {
        guard machine.isSettled, uploads.questions.isEmpty, queue.isEmpty else { return false }
        return isLeaving || isRetired || run.lanes.acceptance == .nothing
            || news.producing == .exhausted && machine.isWelcomed
    }

    private func take(_ chunk: OutgoingChunk) {
        for upload in chunk.begun {
            machine.began(upload.id)
            uploads.began(upload)
        }
        for split in chunk.asked {
            machine.asked(split.whole.id)
            uploads.ask(split)
        }
        for looked in chunk.lookups {
            machine.lookedUp(looked.lazy.map(\.id))
            uploads.lookUp(looked)
        }
        for asked in chunk.folders {
            machine.requested(asked.request)
            uploads.folders.add(asked)
        }
        run.lanes.lookups.sent(unasked: chunk.unasked.count, bytes: chunk.unasked.bytes)
        for (id, digest) in chunk.ended { uploads.ended(id, digest) }
        for (upload, failure) in chunk.abandoned { uploads.abandon(upload, failure) }
        for report in chunk.reports { run.channel.send(.finished(report)) }
        for (split, code) in chunk.failedInParts { uploads.giveUp(split, code) }
        for (upload, failure) in chunk.unread { uploads.unread(upload, failure) }
        guard !chunk.isEmpty, !driver.isOver else { return }
        askForLane(produced: chunk.count)
        queue.append(chunk)
        if !chunk.begun.isEmpty { governor.contentChanged() }
        guard chunk.contentCount > 0 else { return flush() }
        let choice = governor.choose()
        chunk.epoch = governor.epoch
        switch choice {
        case .plain: flush()
        case .compress(let method): startCompressing(chunk, method)
        case .plainMeasuring(let methods, let bytes):
            chunk.isMeasured = true
            flush()
            Task(executorPreference: run.loop) { await self.measure(methods, with: chunk, bytes) }
        }
    }

    private func startCompressing(_ chunk: OutgoingChunk, _ method: CompressionMethod) {
        chunk.isReady = false
        Task(executorPreference: run.loop) { await self.compress(chunk, method) }
    }

    /// Compresses waiting chunks when the governor has begun to compress. Uncompressed, they would leave slowly.
    func compressWaiting() {
        guard let method = governor.method else { return }
        for chunk in queue.untouched where chunk.isReady && !chunk.isMeasured && !chunk.dataFrames.isEmpty {
            chunk.epoch = governor.epoch
            startCompressing(chunk, method)
        }
    }

    private func compress(_ chunk: OutgoingChunk, _ method: CompressionMethod) async {
        let before = chunk.count
        await run.pool.run { [compressors = run.compressors] in
            compressors.lend(method) { compressor in
                chunk.compress(as: method.format.encoding) { compressor.compress($0) }
            }
        }
        governor.compressed(before: before, after: chunk.count)
        chunk.isReady = true
        flush()
    }

    private func measure(_ methods: [CompressionMethod], with chunk: OutgoingChunk, _ bytes: Int) async {
        guard let content = chunk.longest else { return }
        let figures = await run.pool.run { [compressors = run.compressors] in
            compressors.measure(methods, with: chunk.content(content), bytes: bytes)
        }
        // All lanes share the cores of this machine.
        let compressors = max(1, ClientConfiguration.cores / (1 + run.lanes.sessions.count))
        governor.measured(figures.map { $0.times(compressors) })
    }

    /// Observes all lanes at intervals as long as this lane exists.
    private func watchLine() {
        _ = run.loop.schedule(at: (MonotonicTime.now + LossGovernor.interval).nanoseconds) { [weak self] in
            self?.assumeIsolated { session in
                guard session.ending == nil else { return }
                session.run.lanes.look(with: session, hasMore: session.news.producing == .more, now: .now)
                session.run.feed.share(session.run.lanes.sharing)
                session.watchLine()
            }
        }
    }

    /// Requests another lane now and then, but not with every chunk: searching for work costs a change of thread.
    private func askForLane(produced count: Int) {
        produced += count
        guard news.producing == .more, produced >= worthwhile else { return }
        produced = 0
        worthwhile = min(2 * worthwhile, Lanes.worthwhile.upperBound)
        run.lanes.wanted.fire()
    }

    /// Wakes the producer after an event that it may wait for.
    func tellProducer() {
        news.tell()
    }
}

// MARK: Receiving

extension ClientSession {
    /// The most bytes to receive at once; results are short.
    private static let receiveSize = 64 << 10

    /// Reads frames until the session is ending.
    private func readLoop() async {
        let hasEnded = await read(holding: Self.receiveSize) { bytes in
            run.channel.gather { parse(bytes.bytes) }
        }
        if hasEnded { end(.lost("the server closed the connection")) }
    }

    /// - Returns: the number of parsed bytes.
    private func parse(_ bytes: RawSpan) -> Int {
        var consumed = 0
        do throws(ProtocolFault) {
            while !isEnding {
                switch try parser.next(bytes.extracting(consumed..<bytes.byteCount)) {
                case .needsMore: return consumed
                case .message(let message, let count):
                    consumed += count
                    try take(message)
                case .data: throw ProtocolFault(.unexpectedFrame, "The server sent data.")
                }
            }
        } catch {
            broke(error)
        }
        return consumed
    }

    private func take(_ message: Message) throws(ProtocolFault) {
        let action = try machine.receive(message)
        if action.isAnswer { driver.liveness.answered(now: .now) }
        switch action {
        case .welcomed(let welcome): welcomed(welcome)
        case .accepted(let id): uploads.accepted(id)
        case .found(let have): found(have)
        case .known(let result): uploads.known(result)
        case .unknown(let ids): uploads.unknown(ids)
        case .progress(let id, let bytes): uploads.progressed(id, bytes)
        case .finished(let result):
            try uploads.finished(result)
            if uploads.isTooOld { laneWasLost() }
        case .acknowledged(let result): try uploads.acknowledged(result)
        case .receipts(let receipts): uploads.received(receipts)
        case .outcome(let outcome): uploads.compared(outcome)
        // The session sends no requests with such answers, and the machine rejects answers without a request.
        case .entries, .file, .block, .fetched, .persons, .deliveries, .arrived: break
        case .reply(let reply): send(reply)
        case .leaving:
            isLeaving = true
            serverLeaves(taking: .running)
        case .refused(let result):
            if result.code == .shuttingDown { serverLeaves(taking: .running) }
            // The server has closed an idle connection while the client waited for a source. That is no failure, so the
            // time for retries starts again.
            if result.code == .timedOut, hasConnected, machine.isSettled { uploads.hasProgressed = true }
            end(Self.ending(result))
        case .nothing: break
        }
    }

    private static func ending(_ refusal: UploadResult) -> Ending {
        guard refusal.code.isRetryable else { return .refused(refusal) }
        return refusal.code == .busy && refusal.retryAfter != nil ? .paused(refusal) : .lost(refusal.message)
    }

    private func welcomed(_ welcome: Welcome) {
        hasConnected = true
        comparesFolders = welcome.features.contains(.folders)
        takesHoles = welcome.features.contains(.holes)
        if welcome.features.contains(.zstd) { governor.formats = [.zlib, .zstd] }
        run.keeps.withLock { $0 = welcome.keeps }
        run.lanes.connected()
        established(heartbeat: welcome.heartbeat, silence: run.configuration.silenceTimeout)
        if run.configuration.wantsReceipts {
            guard let key = welcome.serverKey.flatMap({ ServerKey($0) }) else {
                return end(.unsupported(Self.noReceipts))
            }
            uploads.inspector = ReceiptInspector(key)
        }
        guard run.configuration.recipients.isEmpty || welcome.features.contains(.mail) else {
            return end(.unsupported(Features.mail.absence + " Nothing was sent."))
        }
        if isFirst { run.channel.send(.connected(server: run.server.description)) }
        if isFirst {
            if run.lanes.begins(over: link, welcome.features) { watchLine() }
            run.feed.share(run.lanes.sharing)
        }
        tellProducer()
    }

    /// Compares the blocks that the server has with the source, on the pool, while everything else goes on.
    private func found(_ have: Have) {
        guard let split = uploads.compares(have) else { return }
        Task(executorPreference: run.loop) { await self.compare(split, have) }
    }

    private func compare(_ split: any UploadInParts, _ have: Have) async {
        let compared = await run.pool.run { Result { () throws(Failure) in try split.compare(have) } }
        uploads.compared(split, have, compared)
    }
}
