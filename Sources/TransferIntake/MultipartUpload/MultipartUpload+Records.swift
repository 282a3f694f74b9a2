import TransferModel
import TransferPorts
import TransferSystem

/// What a multipart upload does in a store that records parts (`PartRecords`). There the records are the truth, and this object has what
/// is in flight at this server. All of this is with the lock held, which is given up while the records are asked.
extension MultipartUpload {
    /// A connection is about to send a part.
    ///
    /// - Returns: the epoch of the upload; nil where the store records no parts.
    func join() throws(Failure) -> UInt64? {
        guard let records else { return nil }
        _ = try learn { () throws(Failure) in try records.join(id) }
        return monitor.state.epoch
    }

    /// A connection takes the upload over, also from those of other servers.
    ///
    /// - Throws: `incomplete` when another one has done so at the same moment.
    func beginEpoch() throws(Failure) {
        guard let records else { return }
        let recorded = try learn { () throws(Failure) in try records.takeOver(id) }
        guard recorded.epoch == monitor.state.epoch else { throw .takenOver }
    }

    /// A connection is about to end the upload, so what other servers have brought counts.
    func refresh() throws(Failure) {
        guard let records, !monitor.state.isFinished, monitor.state.place.content != nil else { return }
        let recorded = try learn { () throws(Failure) in try records.join(id) }
        monitor.state.parts = VerifiedParts(recorded.parts, as: monitor.state.parts)
    }

    /// - Throws: `incomplete` when the upload was taken over at another server since this one has asked.
    func checkEpoch() throws(Failure) {
        let known = monitor.state.epoch
        guard let records, known > 0, !monitor.state.isFinished else { return }
        let recorded = try learn { () throws(Failure) in try records.join(id) }
        guard recorded.epoch <= known else { throw .takenOver }
    }

    /// Some bytes of a claim are verified.
    ///
    /// - Throws: as `record` does.
    func record(_ claim: PartClaim, adds part: RecordedPart) throws(Failure) {
        try record(claim) { (records, epoch) throws(Failure) in try records.add(part, to: id, epoch: epoch) }
    }

    /// Says something of a claim to the records. Whoever takes the claim over waits, as for a thread that writes for it.
    ///
    /// - Throws: `incomplete` when another has taken it over. With any error the claim is over.
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

    private func learn(_ ask: () throws(Failure) -> RecordedParts) throws(Failure) -> RecordedParts {
        monitor.unlock()
        let answer = Result { () throws(Failure) in try ask() }
        monitor.lock()
        let recorded = try answer.get()
        guard !monitor.state.isFinished else { throw .beingCompleted }
        monitor.state.learn(recorded)
        return recorded
    }
}

extension MultipartUpload.State {
    /// In a new epoch nothing counts but what is recorded, and nobody writes who has begun in an older one.
    fileprivate mutating func learn(_ recorded: RecordedParts) {
        guard recorded.epoch > epoch else { return }
        epoch = recorded.epoch
        revoke(0..<UInt64.max)
        parts = VerifiedParts(recorded.parts, as: parts)
    }
}
