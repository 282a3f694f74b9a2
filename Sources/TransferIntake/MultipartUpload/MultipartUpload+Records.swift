import TransferModel
import TransferPorts
import TransferSystem

/// What a multipart upload does in a store that records parts (`PartRecords`). There the records are the truth, and this object has what
/// is in flight at this server. All of this is with the lock held, which is given up while the records are asked.
extension MultipartUpload {
    /// The epochs of an upload, as far as this server has heard of them.
    struct Epochs {
        /// 0 before the records were asked.
        var newest: UInt64 = 0

        /// By the numbers of the connections that have joined one.
        var joined: [Int: UInt64] = [:]
    }

    /// A connection is about to send a part.
    ///
    /// - Returns: the epoch that it has joined, now or before; nil where the store records no parts.
    /// - Throws: `incomplete` when the upload was taken over since.
    func join(_ connection: Int) throws(Failure) -> UInt64? {
        guard let records else { return nil }
        if monitor.state.epochs.joined[connection] == nil {
            _ = try learn(connection) { () throws(Failure) in try records.join(id) }
        }
        let epochs = monitor.state.epochs
        guard epochs.joined[connection] == epochs.newest else { throw .takenOver }
        return epochs.newest
    }

    /// A connection takes the upload over, also from those of other servers.
    func beginEpoch(_ connection: Int) throws(Failure) {
        guard let records else { return }
        monitor.state.epochs.joined[connection] = nil
        let recorded = try learn(connection) { () throws(Failure) in try records.takeOver(id) }
        guard recorded.epoch == monitor.state.epochs.newest else { throw .takenOver }
    }

    /// A connection is about to end the upload, so what other servers have brought counts.
    ///
    /// - Throws: `incomplete` when the upload was taken over since the connection has joined.
    func refresh(_ connection: Int) throws(Failure) {
        guard let records, !monitor.state.isFinished, monitor.state.place.content != nil else { return }
        let recorded = try learn(connection) { () throws(Failure) in try records.join(id) }
        guard monitor.state.epochs.joined[connection] == recorded.epoch,
            recorded.epoch == monitor.state.epochs.newest
        else { throw .takenOver }
        monitor.state.parts = VerifiedParts(recorded.parts)
    }

    /// A connection has gone. Without the lock.
    func forget(_ connection: Int) { monitor.withLock { monitor.state.epochs.joined[connection] = nil } }

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

    /// Asks the records for a connection, which joins the epoch that they name, unless it has joined one before.
    private func learn(
        _ connection: Int, _ ask: () throws(Failure) -> RecordedParts
    ) throws(Failure) -> RecordedParts {
        monitor.unlock()
        let answer = Result { () throws(Failure) in try ask() }
        monitor.lock()
        let recorded = try answer.get()
        guard !monitor.state.isFinished else { throw .beingCompleted }
        monitor.state.learn(recorded)
        if monitor.state.epochs.joined[connection] == nil { monitor.state.epochs.joined[connection] = recorded.epoch }
        return recorded
    }
}

extension MultipartUpload.State {
    /// In a new epoch nothing counts but what is recorded, and no connection of an older one writes any more.
    fileprivate mutating func learn(_ recorded: RecordedParts) {
        guard recorded.epoch > epochs.newest else { return }
        epochs.newest = recorded.epoch
        revoke(0..<UInt64.max)
        parts = VerifiedParts(recorded.parts)
    }
}
