import TransferModel
import TransferPorts
import TransferSystem

/// Multipart uploads in a store that records parts (`PartRecords`). The records decide which parts count; this object
/// has the claims of this server. Each function here is called with the lock held, and releases it while it calls the
/// records.
extension MultipartUpload {
    /// Called when a connection is about to send a part.
    ///
    /// - Returns: the epoch of the upload, and whether bytes of the part are recorded; nil if the store records no
    ///   parts.
    func join(_ range: Range<UInt64>) throws(Failure) -> (epoch: UInt64, hasBytes: Bool)? {
        guard let records else { return nil }
        let seen = try ask { () throws(Failure) in try records.look(id, in: range) }
        guard seen.epoch > monitor.state.epoch else { return (monitor.state.epoch, seen.hasBytes) }
        let recorded = try learn { () throws(Failure) in try records.join(id) }
        return (monitor.state.epoch, recorded.parts.contains { $0.range.overlaps(range) })
    }

    /// Called when a connection takes the upload over, also from connections to other servers.
    ///
    /// - Throws: `incomplete` if another connection has taken it over at the same moment.
    func beginEpoch() throws(Failure) {
        guard let records else { return }
        let recorded = try learn { () throws(Failure) in try records.takeOver(id) }
        guard recorded.epoch == monitor.state.epoch else { throw .takenOver }
    }

    /// Replaces the parts by the recorded ones before the upload ends, because other servers may have verified some.
    func refresh() throws(Failure) {
        guard let records, !monitor.state.isFinished, monitor.state.place.content != nil else { return }
        let recorded = try learn { () throws(Failure) in try records.join(id) }
        monitor.state.parts = VerifiedParts(recorded.parts, as: monitor.state.parts)
    }

    /// - Throws: `incomplete` if the upload was taken over at another server since this one has read the records.
    func checkEpoch() throws(Failure) {
        let known = monitor.state.epoch
        guard let records, known > 0, !monitor.state.isFinished else { return }
        let seen = try ask { () throws(Failure) in try records.look(id, in: 0..<0) }
        guard seen.epoch > known else { return }
        _ = try learn { () throws(Failure) in try records.join(id) }
        throw .takenOver
    }

    /// Records verified bytes of a claim.
    ///
    /// - Throws: the same as `record`.
    func record(_ claim: PartClaim, adds part: RecordedPart) throws(Failure) {
        try record(claim) { (records, epoch) throws(Failure) in try records.add(part, to: id, epoch: epoch) }
    }

    /// Calls the records for a claim. A connection that takes the claim over waits for the call, as it waits for a
    /// write.
    ///
    /// - Throws: `incomplete` if another connection has the claim; errors of `say`. After any error the claim is over.
    func record(
        _ claim: PartClaim, _ say: (any PartRecords, UInt64) throws(Failure) -> Void
    ) throws(Failure) {
        guard let records, let epoch = claim.epoch else { return }
        guard monitor.state.beginWriting(claim) else { throw .takenOver }
        monitor.unlock()
        let answer = Result { () throws(Failure) in try say(records, epoch) }
        monitor.lock()
        let isHeld = monitor.state.endWriting(claim)
        if !isHeld { monitor.wakeAll() }
        if case .failure(let error) = answer {
            _ = monitor.state.release(claim)
            throw error
        }
        guard isHeld else { throw .takenOver }
    }

    private func learn(_ join: () throws(Failure) -> RecordedParts) throws(Failure) -> RecordedParts {
        let recorded = try ask(join)
        monitor.state.learn(recorded)
        return recorded
    }

    private func ask<Answer>(_ body: () throws(Failure) -> Answer) throws(Failure) -> Answer {
        monitor.unlock()
        let answer = Result { () throws(Failure) in try body() }
        monitor.lock()
        let recorded = try answer.get()
        guard !monitor.state.isFinished else { throw .beingCompleted }
        return recorded
    }
}

extension MultipartUpload.State {
    /// Begins a new epoch: the upload has only the recorded parts, and all claims of older epochs are revoked.
    fileprivate mutating func learn(_ recorded: RecordedParts) {
        guard recorded.epoch > epoch else { return }
        epoch = recorded.epoch
        revoke(0..<UInt64.max)
        parts = VerifiedParts(recorded.parts, as: parts)
    }
}
