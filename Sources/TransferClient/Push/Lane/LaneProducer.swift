import Synchronization
import TransferCodec
import TransferModel
import TransferProtocol
import TransferSystem

/// The part of one connection that runs on the pool: it opens, reads, digests and frames the feed's uploads, a chunk at
/// a time. Many small uploads share a chunk; a long one takes many.
///
/// `@unchecked Sendable`: the session has one chunk filled at a time and waits for it, so only one thread uses it at a
/// time.
final class LaneProducer: @unchecked Sendable {
    /// The session's instructions for the next chunks.
    struct Orders: Sendable {
        /// The number of uploads that may begin now.
        var allowance: Int
        /// The answer to the upload that was begun last, before this chunk.
        var answer = Answer.none
        /// The number of questions about uploads that may be sent now.
        var questions = 0
        /// What may be looked up, and what may be sent without a lookup.
        var lookups = LookupGovernor.Orders()
        /// Whether the producer may wait for a stream: no filled chunk waits meanwhile.
        var mayWait = true
        /// Whether the server accepts only parts and ends of uploads that have begun.
        var onlyUnderWay = false
        /// Whether this lane begins no more uploads, and leaves when those that it has begun have ended.
        var beginsNothing = false
        /// Whether the server is known to accept holes.
        var takesHoles = false
        /// The bytes of content after which a chunk takes no further file.
        var mostContent = OutgoingChunk.payloadSize
    }

    /// The server's latest answer to the upload that was begun last.
    enum Answer: Sendable {
        case none
        case accepted
        /// The upload already has a result, so the rest of the content is not sent.
        case settled
    }

    /// What must happen before the next chunk is filled.
    enum Next: Sendable {
        case more
        /// As many uploads have begun as are allowed: results must arrive first.
        case waitForAllowance
        case waitForAccept
        /// The next upload is held back until a lookup is answered.
        case waitForAnswer
        /// The feed is empty, but uploads may be put back.
        case exhausted
    }

    let feed: UploadFeed
    let configuration: ClientConfiguration
    let ids: SourceID
    private var long: LongUpload?
    /// An upload that was opened and did not fit into the chunk.
    private var held: (pending: PendingUpload, reader: ContentReader)?
    /// An upload from the feed that was neither sent nor looked up yet.
    var next: PendingUpload?
    /// The recipients of uploads; nil if uploads are stored under their paths.
    private let recipients: Recipients?
    /// How uploads are sealed; nil if they are not.
    private let sealing: SealedPush?
    /// Whether the server has accepted an upload to the recipients; true if there are no recipients. Until then, the
    /// client waits for `accept` before it sends any content.
    private var isTaken: Bool
    /// A folder from the feed that was not asked about yet.
    var nextFolder: SourceFolder?
    /// The number of the last question about a folder.
    var folderQuestions: UInt32 = 0
    /// Whether a stream gave less than a block, so that the session gets a turn.
    private var isWaiting = false

    /// Content below this size is sent in one frame with a short header, in one chunk with its `begin` and `end`.
    private static let smallSize = UInt64(FrameHeader.extendedMarker)

    /// From this size on, the client waits for the server's `accept` before it reads the content: a refusal then costs
    /// one round trip instead of the content. For less content, the round trip would cost more.
    private static let askFirstSize: UInt64 = 16 << 20

    init(feed: UploadFeed, configuration: ClientConfiguration, sealing: SealedPush? = nil) {
        self.sealing = sealing
        self.feed = feed
        ids = SourceID(configuration)
        recipients = configuration.recipients.isEmpty ? nil : Recipients(configuration.recipients)
        isTaken = recipients == nil
        self.configuration = configuration
    }

    /// Fills empty chunks in order, as long as that requires no waiting.
    func fill(_ chunks: [OutgoingChunk], _ orders: Orders) -> Next {
        // The state of sealed uploads becomes durable after the chunks are filled, and before any of them is sent.
        defer { sealing?.makeDurable() }
        var orders = orders
        if orders.onlyUnderWay { putBackNew() }
        if orders.beginsNothing { putBackUnbegun() }
        for chunk in chunks {
            let next = fill(chunk, orders)
            guard next == .more, chunk !== chunks.last, !mayBlock else { return next }
            orders.allowance -= chunk.uploads
            orders.questions -= chunk.asked.count
            orders.lookups.questions -= chunk.lookups.reduce(0) { $0 + $1.count }
            if orders.lookups.unasked != LookupGovernor.Orders.unlimited {
                orders.lookups.unasked = chunk.lookups.isEmpty ? orders.lookups.unasked - chunk.unasked.bytes : 0
            }
            for folder in chunk.folders { orders.lookups.folders?.take(folder) }
            orders.mayWait = false
            // The answer is about an upload that began before this chunk, so it does not apply to the next chunk.
            if !chunk.begun.isEmpty { orders.answer = .none }
        }
        return .more
    }

    /// Whether reading the next upload may wait for another process; then the filled chunk is sent first.
    private var mayBlock: Bool { long == nil && (isWaiting || held?.pending.mayBlock ?? false) }

    /// Fills one empty chunk, as far as that requires no waiting.
    func fill(_ chunk: OutgoingChunk, _ orders: Orders) -> Next {
        isWaiting = false
        while !isWaiting {
            // The answer is about an upload of an earlier chunk, perhaps an earlier attempt of the same upload, so it
            // does not apply to uploads of this chunk.
            let answer = chunk.begun.isEmpty ? orders.answer : .none
            if let long {
                guard let next = advance(long, chunk, answer, orders) else { continue }
                return next
            }
            guard chunk.contentCount < orders.mostContent else { return .more }
            guard chunk.uploads < orders.allowance else { return .waitForAllowance }
            if let held {
                guard start(held.pending, held.reader, chunk, orders) else {
                    return chunk.isEmpty ? .waitForAllowance : .more
                }
                self.held = nil
                continue
            }
            if let next = askAboutFolders(chunk, orders) { return next }
            switch takeNext(onlyUnderWay: orders.onlyUnderWay) {
            case nil: return .exhausted
            case .report(let report): chunk.reports.append(report)
            case .upload(let pending):
                if let next = course(of: pending, chunk, orders) { return next }
            }
            guard held == nil, chunk.reports.count < OutgoingChunk.mostReports else { return .more }
        }
        return .more
    }

    /// Puts uploads that were opened and not begun back into the feed, after the connection has ended.
    func stop() {
        putBackUnbegun()
        long = nil
    }

    private func putBackUnbegun() {
        if let next { feed.putBack([next]) }
        next = nil
        if let folder = nextFolder.take() { feed.putBack(folder) }
        if let held { feed.putBack([held.pending]) }
        held = nil
    }

    /// Puts uploads back that a stopping server would refuse.
    private func putBackNew() {
        if let upload = next.take() { feed.putBack([upload]) }
        guard let upload = held?.pending, !upload.isUnderWay else { return }
        held = nil
        feed.putBack([upload])
    }

    /// The item in the form that the server receives: an upload of a sealed push is encrypted.
    func sealed(_ item: UploadFeed.Item) -> UploadFeed.Item {
        guard let sealing, case .upload(let pending) = item else { return item }
        if pending.started == 0 { pending.started = monotonicNanoseconds() }
        do throws(Failure) {
            return .upload(try sealing.seal(pending))
        } catch {
            return .report(.failed(pending, error))
        }
    }

    func open(_ pending: PendingUpload, _ chunk: OutgoingChunk, _ orders: Orders) {
        // A stream is opened again for every read, so keep the first time.
        if pending.started == 0 { pending.started = monotonicNanoseconds() }
        do throws(Failure) {
            let reader =
                try pending.hasToBeAskedAbout ? ContentReader(size: pending.size) : ContentReader(pending.content)
            try pending.check(reader.file)
            pending.size = reader.size
            pending.file = reader.file
            pending.identify(ids, reader.file)
            if !start(pending, reader, chunk, orders) { held = (pending, reader) }
        } catch {
            report(pending, error, chunk)
        }
    }

    /// - Returns: nil if the upload is sent in one piece.
    private func split(
        _ pending: PendingUpload, _ reader: ContentReader
    ) throws(Failure) -> (any UploadInParts)? {
        if case .stream = pending.content { return pending.asked.take() }
        if pending.hasToBeAskedAbout, let record = pending.record {
            return RecordQuestion(pending, record, function: configuration.digestFunction)
        }
        let source: SplitUpload.Source
        switch pending.content {
        case .file(let place):
            guard let file = reader.file else { return nil }
            source = .file(file, place)
        case .sealed(let file): source = .sealed(file)
        case .bytes, .stream, .part, .rest, .multipart, .drop: return nil
        }
        // Blocks digested before the connection was lost need not be read again.
        if let asked = pending.asked.take() as? SplitUpload, asked.isOf(pending, reader) { return asked }
        (pending.kind, pending.picture) = pending.recognised(in: reader)
        return SplitUpload(pending, source, filled: reader.filled, function: configuration.digestFunction)
    }

    private func report(_ pending: PendingUpload, _ failure: Failure, _ chunk: OutgoingChunk) {
        guard let reported = pending.takeReported() else { return }
        chunk.reports.append(.failed(reported, failure))
        if let split = pending.split { chunk.failedInParts.append((split, failure.code)) }
    }

    /// - Returns: false if it must wait, usually because the chunk has no room for it.
    private func start(
        _ pending: PendingUpload, _ reader: ContentReader, _ chunk: OutgoingChunk, _ orders: Orders
    ) -> Bool {
        do throws(Failure) {
            if recipients != nil, !pending.isDrop, let refusal = feed.refusal { throw refusal }
            if pending.mayBlock {
                // Reading a stream may take long, so the filled part of the chunk is sent first.
                guard chunk.isEmpty, orders.mayWait else { return false }
                readStream(pending, chunk)
                return true
            }
            if pending.isDrop { return try appendDrop(pending, reader, chunk) }
            if isLong(pending, reader) {
                guard chunk.room >= OutgoingChunk.controlRoom, chunk.asked.count < orders.questions else {
                    return false
                }
                let isNew = isTaken && pending.asked == nil && !pending.hasToBeAskedAbout
                guard let split = try split(pending, reader) else { return true }
                if isNew, mayShareUnasked, split.knownSize.map({ $0 < PartSharing.usualSmallestFile }) ?? false {
                    share(split)
                } else {
                    try ask(split, reader, chunk)
                }
                return true
            }
            if case .multipart(let split) = pending.content {
                return try appendMultipart(split, pending, reader, chunk)
            }
            if isTaken, let size = reader.size, size < Self.smallSize, reader.filled == nil {
                return try appendWhole(pending, reader, Int(size), chunk)
            }
            guard chunk.room >= OutgoingChunk.controlRoom else { return false }
            try begin(pending, reader, chunk, orders)
        } catch {
            report(pending, error, chunk)
        }
        return true
    }

    /// Whether to ask first what the server has of the upload.
    private func isLong(_ pending: PendingUpload, _ reader: ContentReader) -> Bool {
        guard pending.asked == nil, !pending.hasToBeAskedAbout else { return true }
        switch pending.content {
        case .stream: return true
        case .file, .sealed: return reader.size.map(feed.splits(fileOf:)) ?? false
        case .bytes, .part, .rest, .multipart, .drop: return false
        }
    }

    /// Whether the conflict policy stores the file even if another one has its path.
    private var mayShareUnasked: Bool { [.keepBoth, .overwrite].contains(configuration.conflict) }

    /// Sends a short file in parts without asking what the server has of it: resuming such a file is not worth a
    /// question.
    private func share(_ split: any UploadInParts) {
        split.whole.begun.add(1, ordering: .relaxed)
        feed.add(split)
    }

    private func ask(
        _ split: any UploadInParts, _ reader: ContentReader, _ chunk: OutgoingChunk
    ) throws(Failure) {
        var begin = try makeBegin(split.whole, reader)
        begin.kind = split.whole.kind
        begin.scope = .multipart
        begin.size = split.knownSize
        var frame: [UInt8] = []
        Message.resume(begin).encode(into: &frame)
        chunk.append(frame)
        chunk.asked.append(split)
    }
}

// MARK: Small uploads

extension LaneProducer {
    /// Appends an upload with all its frames, or nothing: a source that changes while it is read is never begun.
    private func appendWhole(
        _ pending: PendingUpload, _ reader: ContentReader, _ size: Int, _ chunk: OutgoingChunk
    ) throws(Failure) -> Bool {
        var begin = try makeBegin(pending, reader)
        var frame: [UInt8] = []
        Message.begin(begin).encode(into: &frame)
        let header = FrameHeader.shortSize
        guard frame.count + header + size + OutgoingChunk.endRoom <= chunk.room else { return false }
        // Files in /proc have content although their size is 0, so try to read a byte. For other files, the check at
        // the end finds a change.
        let space = chunk.tail(from: frame.count + header, count: max(1, size))
        guard try reader.read(into: space) == size else { throw .changed }
        try reader.checkUnchanged()
        let content = UnsafeRawBufferPointer(rebasing: space[..<size])
        let kind = pending.wantedKind ?? ContentKind(recognising: content, isWhole: true)
        if kind != begin.kind {
            begin.kind = kind
            frame.removeAll(keepingCapacity: true)
            Message.begin(begin).encode(into: &frame)
        }
        pending.kind = kind
        if kind == .picture { pending.picture = Picture(content) }
        let digest = ContentDigester.digest(configuration.digestFunction, content)
        pending.digest = digest
        if case .part(let split, let range) = pending.content { try split.keep(digest.bytes, of: range) }
        let declared = End(size: UInt64(size), digest: digest)
        var end: [UInt8] = []
        Message.end(declared).encode(into: &end)
        chunk.append(frame)
        if size > 0 { chunk.appendData(offset: header, length: size) }
        chunk.append(end)
        chunk.begun.append(pending)
        return true
    }

    private func makeBegin(_ pending: PendingUpload, _ reader: ContentReader) throws(Failure) -> Begin {
        let (modified, permissions) = reader.attributes
        var begin = Begin(
            id: pending.id, path: pending.destination, size: reader.size, kind: pending.wantedKind ?? .file,
            digest: configuration.digestFunction, conflict: configuration.conflict, modified: modified,
            permissions: permissions)
        begin.recipients = recipients
        // Every upload passes here, so nothing about a sealed source can reach the server.
        if sealing != nil {
            (begin.path, begin.kind, begin.modified, begin.permissions) = (SealedUpload.wirePath, .file, nil, nil)
        }
        if case .part(let split, let range) = pending.content {
            begin.scope = .part(.init(of: split.whole.id, offset: range.lowerBound, total: split.knownSize))
            begin.filled = split.filled
        } else if !pending.isDrop {
            (begin.filled, begin.version) = (reader.filled, pending.replaceable)
            // The end of an upload in parts describes the whole.
            begin.note = try pending.sealed?.note()
            if sealing == nil, let kept = configuration.kept {
                begin.attributes = try reader.extraAttributes(wantsOwner: kept.owners)
                begin.keepsPermissions = begin.attributes != nil
            }
        }
        return begin
    }

    /// Appends the end of a file whose parts are all staged.
    ///
    /// - Returns: false if the chunk has no room for it.
    private func appendMultipart(
        _ split: any UploadInParts, _ pending: PendingUpload, _ reader: ContentReader, _ chunk: OutgoingChunk
    ) throws(Failure) -> Bool {
        guard chunk.room >= OutgoingChunk.controlRoom else { return false }
        try reader.checkUnchanged()
        var begin = try makeBegin(pending, reader)
        begin.scope = .multipart
        let digest = split.digest
        pending.digest = digest
        var frames: [UInt8] = []
        Message.begin(begin).encode(into: &frames)
        Message.end(End(size: reader.size ?? 0, digest: digest)).encode(into: &frames)
        chunk.append(frames)
        chunk.begun.append(pending)
        return true
    }

    /// Appends the request to discard all that the server has of an upload.
    ///
    /// - Returns: false if the chunk has no room for it.
    private func appendDrop(
        _ pending: PendingUpload, _ reader: ContentReader, _ chunk: OutgoingChunk
    ) throws(Failure) -> Bool {
        guard chunk.room >= OutgoingChunk.controlRoom else { return false }
        var begin = try makeBegin(pending, reader)
        begin.scope = .multipart
        // No conflict is possible, because nothing is stored.
        begin.conflict = .keepBoth
        var frames: [UInt8] = []
        Message.begin(begin).encode(into: &frames)
        Message.abort.encode(into: &frames)
        chunk.append(frames)
        chunk.begun.append(pending)
        return true
    }
}

// MARK: Long uploads

extension LaneProducer {
    private func begin(
        _ pending: PendingUpload, _ reader: ContentReader, _ chunk: OutgoingChunk, _ orders: Orders
    ) throws(Failure) {
        var begin = try makeBegin(pending, reader)
        if pending.split == nil { (begin.kind, pending.picture) = pending.recognised(in: reader) }
        begin.expectsAccept = asksFirst(pending, reader, orders)
        pending.kind = begin.kind
        var frame: [UInt8] = []
        Message.begin(begin).encode(into: &frame)
        chunk.append(frame)
        chunk.begun.append(pending)
        long = LongUpload(
            pending, reader: reader, function: configuration.digestFunction, isAwaitingAccept: begin.expectsAccept)
    }

    /// Whether to wait for `accept`. A part does not wait, because the whole file was announced before. Holes can be
    /// sent only when the server has said that it accepts them.
    private func asksFirst(_ pending: PendingUpload, _ reader: ContentReader, _ orders: Orders) -> Bool {
        guard isTaken, orders.takesHoles || reader.filled == nil else { return true }
        guard pending.split == nil, let size = reader.size else { return false }
        return size >= Self.askFirstSize
    }

    /// - Returns: nil if the upload is over and the next one may begin.
    private func advance(_ long: LongUpload, _ chunk: OutgoingChunk, _ answer: Answer, _ orders: Orders) -> Next? {
        guard answer != .settled, !(long.pending.split?.isOver ?? false) else {
            abort(chunk)
            return nil
        }
        if long.isAwaitingAccept {
            guard answer == .accepted else { return .waitForAccept }
            long.isAwaitingAccept = false
            isTaken = true
        }
        // Send the filled chunk before waiting for anything.
        if !chunk.isEmpty, chunk.room < OutgoingChunk.longRoom { return .more }
        do throws(Failure) {
            if try long.produce(into: chunk, orders) { return .more }
            self.long = nil
        } catch {
            abort(chunk)
            chunk.abandoned.append((long.pending, error))
        }
        return nil
    }

    private func abort(_ chunk: OutgoingChunk) {
        var frame: [UInt8] = []
        Message.abort.encode(into: &frame)
        chunk.append(frame)
        long = nil
    }
}

// MARK: Streams

extension LaneProducer {
    /// Reads a stream for one turn. What was read becomes an upload or a part, which the feed hands out next.
    private func readStream(_ pending: PendingUpload, _ chunk: OutgoingChunk) {
        do throws(Failure) {
            switch pending.content {
            case .stream(let stream): try readFront(of: stream, pending)
            case .rest(let upload):
                let (isFull, end) = try upload.readOn()
                isWaiting = !isFull
                if let end { feed.putBack([end]) }
            case .file, .sealed, .bytes, .part, .multipart, .drop: break
            }
        } catch {
            isWaiting = true
            chunk.unread.append((pending, error))
        }
    }

    /// A stream of at most one block is sent like content in memory; a longer one is sent in parts.
    private func readFront(of stream: BlockStream, _ pending: PendingUpload) throws(Failure) {
        switch try stream.read() {
        case .more, .noRoom:
            isWaiting = true
            feed.putBack([pending])
        case .block(let block):
            (pending.kind, pending.picture) = pending.recognised(in: ContentReader(block))
            feed.add(StreamUpload(pending, block, stream, function: configuration.digestFunction))
        case .end(let block):
            feed.putBack([pending.holding(block.map { Array($0.bytes) } ?? [])])
        }
    }
}
