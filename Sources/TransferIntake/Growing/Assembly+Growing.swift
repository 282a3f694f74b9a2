import TransferModel
import TransferStore
import TransferSystem

extension Assembly {
    /// The right to append, which all older requests lose. What these have left behind the durable part is made durable, or
    /// forgotten where it counts only as a whole.
    ///
    /// - Parameters:
    ///   - request: its number; they grow.
    ///   - open: opens the upload, where it is not.
    /// - Returns: nothing where there is none.
    /// - Throws: `incomplete` when a newer request has it; `busy` when it is being completed; what `open` throws, and the disk.
    func claimEnd(
        request: Int, now: Int64, _ open: () throws(StoreError) -> (any GrowingContent)?
    ) throws(StoreError) -> (claim: GrowthClaim, growth: Growth)? {
        guard let (claim, growth) = try takeEnd(request, now: now, open) else { return nil }
        let growing = GrowthClaim(claim, on: self, growth)
        do throws(StoreError) {
            try growing.use { (growth) throws(StoreError) in
                if !growth.isUnproven, growth.unkept > 0 { try growth.keepOrForget(now: now) }
                if growth.isUnproven { try growth.rollBack() }
                growth.isUnproven = false
            }
        } catch {
            growing.withdraw()
            if growth.isLost { discard(growth) }
            throw error
        }
        return (growing, growth)
    }

    private func takeEnd(
        _ request: Int, now: Int64, _ open: () throws(StoreError) -> (any GrowingContent)?
    ) throws(StoreError) -> (claim: PartClaim, growth: Growth)? {
        monitor.lock()
        defer { monitor.unlock() }
        guard !monitor.state.isFinished else { throw .beingCompleted }
        guard monitor.state.claims.allSatisfy({ $0.claim.connection <= request }) else { throw .takenOver }
        monitor.state.note(request, nil)
        monitor.state.revoke(0..<UInt64.max)
        waitForWriters(of: 0..<UInt64.max)
        guard let growth = try growth(now: now, open) else { return nil }
        // A newer one may have come meanwhile.
        guard monitor.state.claims.allSatisfy({ $0.claim.connection <= request }) else { throw .takenOver }
        monitor.state.revoke(0..<UInt64.max)
        let claim = PartClaim(0..<UInt64.max, connection: request, of: self, in: growth.content.content)
        monitor.state.claims.append(Held(claim: claim))
        waitForWriters(of: 0..<UInt64.max)
        return (claim, growth)
    }

    /// With the lock held, which it gives up while a disk is at work.
    private func growth(
        now: Int64, _ open: () throws(StoreError) -> (any GrowingContent)?
    ) throws(StoreError) -> Growth? {
        if let growth = monitor.state.growth { return growth }
        var opened: Growth?
        do throws(StoreError) {
            _ = try self.open { () throws(StoreError) in
                guard let content = try open() else { throw .nothingGrows }
                let growth = try Growth(content, now: now)
                opened = growth
                return content.content
            }
        } catch {
            guard error == .nothingGrows else { throw error }
            return nil
        }
        if let opened { monitor.state.growth = opened }
        // Somebody else's, who was faster; or bytes that came in parts.
        guard let growth = monitor.state.growth else { throw .declaredOtherwise }
        return growth
    }

    /// Ends the upload for its last request, and hands out what it holds.
    ///
    /// - Throws: `incomplete` when another has taken it over; `busy` when it is being completed.
    func finishGrowing(
        _ claim: PartClaim, _ growth: Growth
    ) throws(StoreError) -> (staged: any StagedContent, digest: Digest) {
        monitor.lock()
        defer { monitor.unlock() }
        guard !monitor.state.isFinished else { throw .beingCompleted }
        guard monitor.state.release(claim) else { throw .takenOver }
        _ = close()
        return (growth.content.content, growth.finish())
    }

    /// Whether it grows at its end, and has no parts.
    var isGrowing: Bool { monitor.withLock { monitor.state.growth != nil } }

    /// Ends an upload that cannot be gone on with, and throws it away. The caller removes it from `Assemblies`.
    func discard(_ growth: Growth) {
        guard end() != nil else { return }
        growth.content.discard()
        monitor.withLock { monitor.state.isDiscarded = true }
    }

    var isDiscarded: Bool { monitor.withLock { monitor.state.isDiscarded } }
}

extension StoreError {
    fileprivate static let nothingGrows = StoreError(.notFound, "There is no such upload.")
}
