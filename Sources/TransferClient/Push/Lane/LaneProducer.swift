import Synchronization
import TransferCodec
import TransferModel
import TransferProtocol
import TransferSystem

/// The pool's side of one connection: opens, reads, digests and frames what the feed hands out, a chunk at a time. Many
/// small uploads share a chunk; a long one takes many.
///
/// `@unchecked Sendable`: the session has one chunk filled at a time and waits for it, so no two threads are ever in it.
final class LaneProducer: @unchecked Sendable {
    /// What the session knows that matters for what comes next.
    struct Orders: Sendable {
        /// Uploads that may begin now.
        var allowance: Int
        /// To the upload that was begun last, before this chunk.
        var answer = Answer.none
        /// Uploads that may be asked about now.
        var questions = 0
        /// What may be asked about, and what may be sent unasked.
        var lookups = LookupGovernor.Orders()
        /// Whether nothing that is ready waits for this: then a stream may be waited for.
        var mayWait = true
        /// Whether the server takes nothing but what belongs to an upload that has begun.
        var onlyUnderWay = false
        /// Whether this lane goes when it has ended what it has begun.
        var beginsNothing = false
        /// Whether the server is known to take holes.
        var takesHoles = false
        /// Bytes of content in a chunk, but for the last file in it.
        var mostContent = OutgoingChunk.payloadSize
    }

    /// What the server has said so far to the upload that was begun last.
    enum Answer: Sendable {
        case none
        case accepted
        /// It has its result already: no more of it is wanted.
        case settled
    }

    /// Whether to go on.
    enum Next: Sendable {
        case more
        /// Results must arrive first.
        case waitForAllowance
        case waitForAccept
        /// What comes next is held back until something that was asked about is answered.
        case waitForAnswer
        /// There is nothing left to push, but uploads may be put back.
        case exhausted
    }

    let feed: UploadFeed
    let configuration: ClientConfiguration
    let ids: SourceID
    private var long: LongUpload?
    /// Opened, but the chunk had no room left for it.
    private var held: (pending: PendingUpload, reader: ContentReader)?
    /// Taken from the feed, and neither sent nor asked about.
    var next: PendingUpload?
    /// Whom uploads are for; nothing where they are stored under their paths.
    private let recipients: Recipients?
    /// How uploads are sealed; nothing where they are not.
    private let sealing: SealedPush?
    /// Whether the server has let an upload in that is for them: until then it is asked before any content is sent.
    private var isTaken: Bool
    /// Taken from the feed, and not asked about.
    var nextFolder: SourceFolder?
    /// Of the last question about a folder.
    var folderQuestions: UInt32 = 0
    /// A stream gave less than a block: the session may want to know, or to stop.
    private var isWaiting = false

    /// Content up to here travels whole in one frame with a short header, with its `begin` and `end` in one chunk.
    private static let smallSize = UInt64(FrameHeader.extendedMarker)

    /// From this size on the server is asked before anything is read: a refusal then costs one round trip instead of
    /// the content. Below, the round trip would cost more.
    private static let askFirstSize: UInt64 = 16 << 20

    init(feed: UploadFeed, configuration: ClientConfiguration, sealing: SealedPush? = nil) {
        self.sealing = sealing
        self.feed = feed
        ids = SourceID(configuration)
        recipients = configuration.recipients.isEmpty ? nil : Recipients(configuration.recipients)
        isTaken = recipients == nil
        self.configuration = configuration
    }

    /// Fills empty chunks, one after the other, as long as there is more to say without waiting.
    func fill(_ chunks: [OutgoingChunk], _ orders: Orders) -> Next {
        // Behind all that goes into them, and before any of it is sent.
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
            // The answer was to an upload before this chunk.
            if !chunk.begun.isEmpty { orders.answer = .none }
        }
        return .more
    }

    /// Whether what comes next may have to wait for somebody else: then what is there is sent first.
    private var mayBlock: Bool { long == nil && (isWaiting || held?.pending.mayBlock ?? false) }

    /// Fills an empty chunk.
    func fill(_ chunk: OutgoingChunk, _ orders: Orders) -> Next {
        isWaiting = false
        while !isWaiting {
            // The answer was to an upload of an earlier chunk, perhaps an earlier attempt at the same one.
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

    /// The connection is gone: what was opened but not begun goes back to the feed.
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

    /// What the server would not take.
    private func putBackNew() {
        if let upload = next.take() { feed.putBack([upload]) }
        guard let upload = held?.pending, !upload.isUnderWay else { return }
        held = nil
        feed.putBack([upload])
    }

    /// As the server gets it.
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
        // A stream is opened for every read.
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

    /// - Returns: nothing when the upload travels in one piece.
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
        // What was read of it before a connection was lost need not be read again.
        if let asked = pending.asked.take() as? SplitUpload, asked.isOf(pending, reader) { return asked }
        (pending.kind, pending.picture) = pending.recognised(in: reader)
        return SplitUpload(pending, source, filled: reader.filled, function: configuration.digestFunction)
    }

    private func report(_ pending: PendingUpload, _ failure: Failure, _ chunk: OutgoingChunk) {
        guard let reported = pending.takeReported() else { return }
        chunk.reports.append(.failed(reported, failure))
        if let split = pending.split { chunk.failedInParts.append((split, failure.code)) }
    }

    /// - Returns: false when it has to wait, mostly because the chunk has no room for it.
    private func start(
        _ pending: PendingUpload, _ reader: ContentReader, _ chunk: OutgoingChunk, _ orders: Orders
    ) -> Bool {
        do throws(Failure) {
            if recipients != nil, !pending.isDrop, let refusal = feed.refusal { throw refusal }
            if pending.mayBlock {
                // Reading a stream may take long: what is ready is sent before.
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

    /// Whether the server is asked what it has of it before anything is sent.
    private func isLong(_ pending: PendingUpload, _ reader: ContentReader) -> Bool {
        guard pending.asked == nil, !pending.hasToBeAskedAbout else { return true }
        switch pending.content {
        case .stream: return true
        case .file, .sealed: return reader.size.map(feed.splits(fileOf:)) ?? false
        case .bytes, .part, .rest, .multipart, .drop: return false
        }
    }

    /// Whether what has the name already could not keep a file out.
    private var mayShareUnasked: Bool { [.keepBoth, .overwrite].contains(configuration.conflict) }

    /// What there may be of a short file from an earlier push is not worth a question: it is sent again.
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
    /// Appends an upload with all its frames, or nothing of it: a source that changes while it is read is never begun.
    private func appendWhole(
        _ pending: PendingUpload, _ reader: ContentReader, _ size: Int, _ chunk: OutgoingChunk
    ) throws(Failure) -> Bool {
        var begin = try makeBegin(pending, reader)
        var frame: [UInt8] = []
        Message.begin(begin).encode(into: &frame)
        let header = FrameHeader.shortSize
        guard frame.count + header + size + OutgoingChunk.endRoom <= chunk.room else { return false }
        // Files in /proc say that they are empty and are not; of others, the look at the end tells.
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
        // Here all of them come by, and whatever an upload knows of itself ends here.
        if sealing != nil {
            (begin.path, begin.kind, begin.modified, begin.permissions) = (SealedUpload.wirePath, .file, nil, nil)
        }
        if case .part(let split, let range) = pending.content {
            begin.scope = .part(.init(of: split.whole.id, offset: range.lowerBound, total: split.knownSize))
            begin.filled = split.filled
        } else if !pending.isDrop {
            (begin.filled, begin.version) = (reader.filled, pending.replaceable)
            // What ends an upload says what all of it is.
            begin.note = try pending.sealed?.note()
            if sealing == nil, let kept = configuration.kept {
                begin.attributes = try reader.extraAttributes(wantsOwner: kept.owners)
                begin.keepsPermissions = begin.attributes != nil
            }
        }
        return begin
    }

    /// Appends what ends a file whose parts are all there.
    ///
    /// - Returns: false when the chunk has no room for it.
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

    /// Appends what takes back all that the server has of an upload.
    ///
    /// - Returns: false when the chunk has no room for it.
    private func appendDrop(
        _ pending: PendingUpload, _ reader: ContentReader, _ chunk: OutgoingChunk
    ) throws(Failure) -> Bool {
        guard chunk.room >= OutgoingChunk.controlRoom else { return false }
        var begin = try makeBegin(pending, reader)
        begin.scope = .multipart
        // Whatever has the name now: nothing is to be stored.
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

    /// Of a file in parts the server was asked as a whole. Before it has said whether it takes holes, none can be sent.
    private func asksFirst(_ pending: PendingUpload, _ reader: ContentReader, _ orders: Orders) -> Bool {
        guard isTaken, orders.takesHoles || reader.filled == nil else { return true }
        guard pending.split == nil, let size = reader.size else { return false }
        return size >= Self.askFirstSize
    }

    /// - Returns: nothing when the upload is over and the next one may start.
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
        // What is ready is sent before anything is waited for.
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
    /// Reads on. What that gives comes back from the feed.
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

    /// Up to a block is an upload like any other, with bytes and a size; more than that travels in parts.
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
