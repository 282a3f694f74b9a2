import TransferModel
import TransferStore
import TransferSystem

extension MultipartUpload {
    /// The right to append, which all older requests lose. What these have left behind the durable part is made durable, or
    /// forgotten where it counts only as a whole.
    ///
    /// - Parameters:
    ///   - request: its number; they grow.
    ///   - open: opens the upload, where it is not.
    /// - Returns: nothing where there is none.
    /// - Throws: `incomplete` when a newer request has it; `busy` when it is being completed; what `open` throws, and the disk.
    func claimEnd(
        request: Int, now: Int64, _ open: () throws(Failure) -> (any AppendableContent)?
    ) throws(Failure) -> (claim: AppendClaim, appendUpload: AppendUpload)? {
        guard let (claim, appendUpload) = try takeEnd(request, now: now, open) else { return nil }
        let appending = AppendClaim(claim, on: self, appendUpload)
        do throws(Failure) {
            try appending.use { (appendUpload) throws(Failure) in
                if !appendUpload.isUnproven, appendUpload.unkept > 0 { try appendUpload.keepOrForget(now: now) }
                if appendUpload.isUnproven { try appendUpload.rollBack() }
                appendUpload.isUnproven = false
            }
        } catch {
            appending.withdraw()
            if appendUpload.isLost { discard(appendUpload) }
            throw error
        }
        return (appending, appendUpload)
    }

    private func takeEnd(
        _ request: Int, now: Int64, _ open: () throws(Failure) -> (any AppendableContent)?
    ) throws(Failure) -> (claim: PartClaim, appendUpload: AppendUpload)? {
        monitor.lock()
        defer { monitor.unlock() }
        guard !monitor.state.isFinished else { throw .beingCompleted }
        guard monitor.state.claims.allSatisfy({ $0.claim.connection <= request }) else { throw .takenOver }
        monitor.state.note(request, nil)
        monitor.state.revoke(0..<UInt64.max)
        waitForWriters(of: 0..<UInt64.max)
        guard let appendUpload = try appendUpload(now: now, open) else { return nil }
        // A newer one may have come meanwhile.
        guard monitor.state.claims.allSatisfy({ $0.claim.connection <= request }) else { throw .takenOver }
        monitor.state.revoke(0..<UInt64.max)
        let claim = PartClaim(0..<UInt64.max, connection: request, of: self, in: appendUpload.content.content)
        monitor.state.claims.append(Held(claim: claim))
        waitForWriters(of: 0..<UInt64.max)
        return (claim, appendUpload)
    }

    /// With the lock held, which it gives up while a disk is at work.
    private func appendUpload(
        now: Int64, _ open: () throws(Failure) -> (any AppendableContent)?
    ) throws(Failure) -> AppendUpload? {
        if let appendUpload = monitor.state.appendUpload { return appendUpload }
        var opened: AppendUpload?
        do throws(Failure) {
            _ = try self.open { () throws(Failure) in
                guard let content = try open() else { throw .noSuchAppend }
                let appendUpload = try AppendUpload(content, now: now)
                opened = appendUpload
                return content.content
            }
        } catch {
            guard error == .noSuchAppend else { throw error }
            return nil
        }
        if let opened { monitor.state.appendUpload = opened }
        // Somebody else's, who was faster; or bytes that came in parts.
        guard let appendUpload = monitor.state.appendUpload else { throw .declaredOtherwise }
        return appendUpload
    }

    /// Ends the upload for its last request, and hands out what it holds.
    ///
    /// - Throws: `incomplete` when another has taken it over; `busy` when it is being completed.
    func finishAppend(
        _ claim: PartClaim, _ appendUpload: AppendUpload
    ) throws(Failure) -> (staged: any StagedContent, digest: Digest) {
        monitor.lock()
        defer { monitor.unlock() }
        guard !monitor.state.isFinished else { throw .beingCompleted }
        guard monitor.state.release(claim) else { throw .takenOver }
        _ = close()
        return (appendUpload.content.content, appendUpload.finish())
    }

    /// Whether it grows at its end, and has no parts.
    var isAppend: Bool { monitor.withLock { monitor.state.appendUpload != nil } }

    /// Ends an upload that cannot be gone on with, and throws it away. The caller removes it from `MultipartUploads`.
    func discard(_ appendUpload: AppendUpload) {
        guard end() != nil else { return }
        appendUpload.content.discard()
        monitor.withLock { monitor.state.isDiscarded = true }
    }

    var isDiscarded: Bool { monitor.withLock { monitor.state.isDiscarded } }
}

extension Failure {
    fileprivate static let noSuchAppend = Failure(.notFound, "There is no such upload.")
}
