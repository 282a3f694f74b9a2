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

/// One connection to the server: sends what the producer makes, a bounded number of chunks ahead, and turns the
/// server's frames into reports. Lives on the run's loop.
actor ClientSession {
    /// Why the connection ended.
    enum Ending: Sendable, Equatable {
        /// Everything has its report.
        case complete
        /// It broke, or the server went; trying again can help.
        case lost(String)
        /// The server lets nobody from here in for a while, and says for how long.
        case paused(UploadResult)
        /// The server ended it and trying again cannot help.
        case refused(UploadResult)
        /// The server can't do what is wanted of it; a sentence.
        case unsupported(String)
        /// The client may talk to the wrong one; a sentence, and what would make it talk all the same.
        case untrusted(String, Remedy? = nil)
        /// The client would have to trust a server that it doesn't know.
        case unknown(UnknownServer)
        /// The server broke the protocol.
        case fault(ProtocolFault)
        case cancelled
    }

    /// Chunks that wait to be sent or compressed beside the one being made: reading ahead hides the latency of the disk,
    /// and several are compressed at once.
    private static let mostChunksAhead = 4

    /// Uploads that the server is asked about at once: enough to hide the answer's way, and few enough that files are sent
    /// one after the other.
    private static let mostQuestions = 8

    private static let noReceipts =
        "The server gives no receipts: it is older, or was told not to make uploads durable. Nothing was sent."

    nonisolated let unownedExecutor: UnownedSerialExecutor
    nonisolated var loop: EventLoop { run.loop }

    let run: RunContext

    /// Of the lane within its push; 0 is the one that stays to its end. Others leave when they find nothing to do.
    nonisolated let number: Int

    private var isFirst: Bool { number == 0 }
    let producer: LaneProducer
    let driver: ConnectionDriver
    private var parser = FrameParser()
    var machine: ClientConnection
    var queue = SendQueue()
    var governor: CompressionGovernor
    let uploads: LaneUploads
    /// Bytes in chunks since another lane was asked for, and how many of them are worth asking.
    private var produced = 0
    /// Whether sources are being read, which can take as long as they like.
    private(set) var isFilling = false
    private var worthwhile = Lanes.worthwhile.lowerBound
    var isLeaving = false
    /// Whether it begins nothing more, because there are too many lanes.
    private(set) var isRetired = false
    var hasSendFailed = false
    /// What is ready waits only for the rate that is to be held.
    var isWaitingForTime = false
    var ending: Ending?

    private var news: ProducerNews { uploads.news }
    var mayProduce: Signal { news.mayProduce }

    /// What may wait in the kernel; as far connections begin.
    private var unsent = StreamSocket.Unsent.far

    /// Whether the server has answered.
    var hasConnected = false

    /// Whether the server can be asked about whole folders.
    private var comparesFolders = false

    /// Whether the server has said that it takes holes.
    private var takesHoles = false

    /// Whether any upload got further here; then the next attempt starts with patience anew.
    var hasProgressed: Bool { uploads.hasProgressed }

    /// Whether it was ended because the server had not answered when there was nothing else to do.
    private(set) var isGivenUp = false

    /// Whether it was lost in the middle of something that the server may take for its own still.
    var hasLostParts = false

    /// `isGivenUp` and `hasLostParts`.
    var whyItEnded: (isGivenUp: Bool, hasLostParts: Bool) { (isGivenUp, hasLostParts) }

    /// - Parameter number: of the lane within its push.
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

    /// Lives through the connection. What was begun and has no result is back in the feed when it returns, unless the
    /// ending is final.
    ///
    /// - Parameters:
    ///   - address: where to connect to.
    ///   - limit: what connecting and the handshake may take together; nothing for what they always may.
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

    /// Uploads that were begun and have no result, in order; they are the caller's from now on.
    func takeUnacknowledged() -> [PendingUpload] {
        uploads.takeAll()
    }

    /// Ends at once.
    func cancel() {
        end(.cancelled)
    }

    /// The reader of the events has caught up.
    func resume() {
        mayProduce.fire()
    }

    /// Begins nothing more, and ends when what it has begun has its results.
    func retire() {
        guard !isRetired else { return }
        isRetired = true
        tellProducer()
    }

    /// Bounds what waits in the kernel; asked for again and again, and mostly as before.
    func bound(_ unsent: StreamSocket.Unsent) {
        guard unsent != self.unsent, let socket = driver.socket else { return }
        socket.bound(unsent)
        self.unsent = unsent
    }

    /// What TCP knows of the way to the server.
    var link: LinkReading? { driver.socket?.link }

    /// Another lane has ended; what it gave back may be for this one.
    func laneEnded() {
        tellProducer()
    }

    /// Another lane was lost in the middle of something that this one is too old for: all begin anew.
    func laneWasLost() {
        end(.lost("one of the connections was lost"))
    }

    /// The server has not answered, and others only wait for this lane.
    func giveUp() {
        isGivenUp = true
        end(.lost("the server did not answer"))
    }

    func end(_ reason: Ending) {
        guard ending == nil else { return }
        ending = reason
        if isFirst { run.lanes.close() }
        mayProduce.fire()
        // The last words of a server that refuses may still be on their way, but nobody waits for more than them.
        if reason != .complete { close() }
    }

    /// Nothing is sent any more. What waits for that has buffers that others of the push may be waiting for, or this
    /// session's own producer.
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
                // The others may still be at work, but one that the server hasn't answered yet only keeps everybody waiting.
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
            // What arrived while the chunks were being made may be just what the producer would wait for.
            news.producing = news.count == newsBefore ? next : .more
            for chunk in chunks { take(chunk) }
        }
    }

    /// Empty ones to be filled. Two at once save a hop to the pool and back, where there is enough to send meanwhile.
    private func takeChunks() async -> [OutgoingChunk] {
        let first = newChunk(await run.buffers.take())
        guard !queue.isEmpty, queue.chunkCount + 2 <= chunksAhead, let second = run.buffers.takeNow() else {
            return [first]
        }
        return [first, newChunk(second)]
    }

    /// Many lanes have fewer each. Besides those that wait, one is being made, and one is with whoever compresses it.
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

    /// How many uploads may begin now. One that has begun goes on while others are held back.
    private var allowance: Int {
        // Nothing is sent to a server that will give no receipt for it, or hand it to nobody, and only `welcome` tells.
        let isKnown = uploads.inspector != nil || !run.configuration.wantsReceipts
        let mayBegin = isKnown && (hasConnected || run.configuration.recipients.isEmpty)
        let isWelcome = !isLeaving && !isRetired && run.lanes.acceptance != .nothing
        return mayBegin && isWelcome && uploads.heldUntil <= .now ? machine.allowance : 0
    }

    /// What may be asked about by folder; nothing where that is not wanted, or cannot be had.
    private var folderRoom: FolderRoom? {
        let configuration = run.configuration
        guard comparesFolders, configuration.asksByFolder, !configuration.wantsReceipts,
            configuration.recipients.isEmpty,
            !isLeaving, !isRetired
        else { return nil }
        return uploads.heldUntil <= .now ? uploads.folders.room(of: run.lanes.lookups.folderWindow) : FolderRoom.none
    }

    /// Whether this lane has nothing to do: what was sent has its result, and nothing more is to be sent here.
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

    /// The governor has begun to compress: what waits as it is would leave as slowly as what made it do so.
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
        // The lanes share the cores.
        let compressors = max(1, ClientConfiguration.cores / (1 + run.lanes.sessions.count))
        governor.measured(figures.map { $0.times(compressors) })
    }

    /// Looks what becomes of all lanes, from time to time as long as there is this one.
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

    /// Not with every chunk: looking whether there is anything else to send costs a hop to the pool.
    private func askForLane(produced count: Int) {
        produced += count
        guard news.producing == .more, produced >= worthwhile else { return }
        produced = 0
        worthwhile = min(2 * worthwhile, Lanes.worthwhile.upperBound)
        run.lanes.wanted.fire()
    }

    /// Something happened that the producer may be waiting for.
    func tellProducer() {
        news.tell()
    }
}

// MARK: Receiving

extension ClientSession {
    /// Bytes received at once; results are short.
    private static let receiveSize = 64 << 10

    /// Reads until the session is ending.
    private func readLoop() async {
        let hasEnded = await read(holding: Self.receiveSize) { bytes in
            run.channel.gather { parse(bytes.bytes) }
        }
        if hasEnded { end(.lost("the server closed the connection")) }
    }

    /// - Returns: how many bytes were taken.
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
        // Nothing else is asked for, so the machine lets no other answer pass.
        case .entries, .file, .block, .fetched, .persons, .deliveries, .arrived: break
        case .reply(let reply): send(reply)
        case .leaving:
            isLeaving = true
            serverLeaves(taking: .running)
        case .refused(let result):
            if result.code == .shuttingDown { serverLeaves(taking: .running) }
            // It waited for a source in vain and did what it had to do: nothing that patience is there for.
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
            if run.lanes.begins(over: link, takesPieces: welcome.features.contains(.pieces)) { watchLine() }
            run.feed.share(run.lanes.sharing)
        }
        tellProducer()
    }

    /// Blocks that the server has are compared with the source on the pool, beside everything else.
    private func found(_ have: Have) {
        guard let split = uploads.compares(have) else { return }
        Task(executorPreference: run.loop) { await self.compare(split, have) }
    }

    private func compare(_ split: any UploadInParts, _ have: Have) async {
        let compared = await run.pool.run { Result { () throws(Failure) in try split.compare(have) } }
        uploads.compared(split, have, compared)
    }
}
