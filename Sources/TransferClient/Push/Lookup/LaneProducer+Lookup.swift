import TransferModel
import TransferProtocol
import TransferSystem

/// Looking uploads up before they are sent.
extension LaneProducer {
    func takeNext(onlyUnderWay: Bool) -> UploadFeed.Item? {
        next.take().map { .upload($0) } ?? feed.next(onlyUnderWay: onlyUnderWay).map(sealed)
    }

    /// Sends an upload, looks it up, or keeps it for later, as the orders allow.
    ///
    /// - Returns: nil to continue with the next upload.
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
        // Send the question at once, so that the answers arrive while the next uploads are examined.
        return lookups.unasked == LookupGovernor.Orders.unlimited ? nil : .more
    }

    /// Gives an upload the id that it would begin with, if it can be looked up.
    ///
    /// - Returns: the size of the content in bytes; nil if it cannot be looked up.
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

    /// Looks up an upload and those after it with one frame.
    ///
    /// - Parameter asksByFolder: whether to stop at a folder about which one question can ask.
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
    /// Whether the upload can be looked up by its id. Long files are asked about with separate questions.
    fileprivate var mayBeAskedAbout: Bool {
        guard !isUnknown, isIdentified, !hasToBeAskedAbout, case .file = content else { return false }
        return true
    }
}
