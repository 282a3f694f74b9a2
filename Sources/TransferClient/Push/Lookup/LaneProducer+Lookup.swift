import TransferModel
import TransferProtocol
import TransferSystem

/// What the server is asked about before it is sent.
extension LaneProducer {
    func takeNext(onlyUnderWay: Bool) -> UploadFeed.Item? {
        next.take().map { .upload($0) } ?? feed.next(onlyUnderWay: onlyUnderWay).map(sealed)
    }

    /// Sends what may be sent, asks about what may be asked about, and keeps the rest.
    ///
    /// - Returns: nothing to go on with the next one.
    func course(of pending: PendingUpload, _ chunk: OutgoingChunk, _ orders: Orders) -> Next? {
        let lookups = orders.lookups
        let left = lookups.questions - chunk.lookups.reduce(0) { $0 + $1.count }
        guard left > 0 || lookups.unasked != LookupGovernor.Orders.unlimited, let size = identify(pending) else {
            if pending.mayBeAskedAbout { chunk.unasked.count += 1 }
            open(pending, chunk, orders)
            return nil
        }
        if lookups.unasked != LookupGovernor.Orders.unlimited, chunk.lookups.isEmpty,
            size <= lookups.unasked - chunk.unasked.bytes
        {
            chunk.unasked.bytes += size
            open(pending, chunk, orders)
            return nil
        }
        guard left > 0 else {
            next = pending
            return chunk.isEmpty ? .waitForAnswer : .more
        }
        guard chunk.room >= OutgoingChunk.controlRoom else {
            next = pending
            return .more
        }
        lookUp(
            pending, atMost: min(left, orders.allowance - chunk.uploads, Limits.lookup), chunk,
            asksByFolder: lookups.folders != nil)
        // Asked at once: the answers shall come while the next ones are looked at.
        return lookups.unasked == LookupGovernor.Orders.unlimited ? nil : .more
    }

    /// Gives an upload the id that it would begin with, if the server can be asked about it.
    ///
    /// - Returns: bytes of its content.
    private func identify(_ pending: PendingUpload) -> UInt64? {
        guard pending.mayBeAskedAbout, case .file(let place) = pending.content, let file = place.identity,
            file.size < PartSharing.usualSmallestFile, (try? pending.check(file)) != nil
        else { return nil }
        if pending.started == 0 { pending.started = monotonicNanoseconds() }
        pending.identify(ids, file)
        pending.file = file
        pending.size = file.size
        return file.size
    }

    /// Asks about an upload and those that come after it.
    ///
    /// - Parameter asksByFolder: whether to stop where the files of a folder can be asked about together.
    private func lookUp(
        _ first: PendingUpload, atMost limit: Int, _ chunk: OutgoingChunk, asksByFolder: Bool
    ) {
        var asked = [first]
        while asked.count < limit, next == nil, chunk.reports.count < OutgoingChunk.mostReports {
            if asksByFolder, nextFolder == nil, !feed.hasReturned { nextFolder = feed.nextFolder() }
            guard nextFolder == nil, let item = feed.next().map(sealed) else { break }
            switch item {
            case .report(let report): chunk.reports.append(report)
            case .upload(let pending):
                if identify(pending) == nil { next = pending } else { asked.append(pending) }
            }
        }
        var frame: [UInt8] = []
        Message.lookup(Lookup(asked.map(\.id), digest: configuration.digestFunction)).encode(into: &frame)
        chunk.append(frame)
        chunk.lookups.append(asked)
    }
}

extension PendingUpload {
    /// Whether the server may know it by its id. A long file is asked about by itself.
    fileprivate var mayBeAskedAbout: Bool {
        guard !isUnknown, isIdentified, !hasToBeAskedAbout, case .file = content else { return false }
        return true
    }
}
