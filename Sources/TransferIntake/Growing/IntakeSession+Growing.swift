import Synchronization
import TransferAccess
package import TransferModel
package import TransferStore

/// Uploads that grow at their end, request by request.
extension IntakeSession {
    /// What there is of one. All older requests for it lose it.
    ///
    /// - Parameter id: the server's.
    /// - Returns: nothing where there is none.
    /// - Throws: `busy` when it is being completed, `incomplete` when a newer request works on it, and what the disk says.
    package func growing(_ id: UploadID) throws(StoreError) -> GrownUpload? {
        // What a client that is gone has sent may be read only now, and take it over: whoever asks again is newer.
        for _ in 1..<Self.mostQuestions {
            do throws(StoreError) {
                return try lookAtEnd(of: id)
            } catch {
                guard error == .takenOver else { throw error }
            }
        }
        return try lookAtEnd(of: id)
    }

    /// Times that a question is asked where others come between.
    private static let mostQuestions = 4

    private func lookAtEnd(of id: UploadID) throws(StoreError) -> GrownUpload? {
        try withEnd(of: id) { (_, claim, growth) throws(StoreError) in
            defer { claim.withdraw() }
            guard let declaration = GrowthDeclaration(growth.content.declaration) else { return nil }
            // Nobody is told of one whose names a power cut could take.
            let mark = try claim.use { (growth) throws(StoreError) in
                try growth.keep(now: intake.clock.monotonic())
                return growth.mark
            }
            let written = intake.store.part(id)?.written ?? intake.clock.utc()
            let (expires, isNever) = written.addingReportingOverflow(intake.keepUnfinished)
            return GrownUpload(
                id, declaration, offset: mark.offset, total: mark.total ?? declaration.total,
                expires: isNever ? .max : expires)
        }
    }

    /// Throws one away, at the wish of its sender.
    ///
    /// - Parameter id: the server's.
    /// - Returns: whether there was one.
    package func takeBack(growing id: UploadID) throws(StoreError) -> Bool {
        let wasKnown = intake.assemblies[id] != nil || intake.store.hasPart(id)
        return try withEnd(of: id, bringsBack: false) { (assembly, claim, growth) in
            claim.withdraw()
            assembly.discard(growth)
            return true
        } ?? wasKnown
    }

    /// Reads what there is of one, to make it a part of another.
    ///
    /// - Parameter body: is given the bytes piece by piece.
    /// - Returns: false where there is none, or not so much.
    package func read(
        growing id: UploadID, _ range: Range<UInt64>, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        try withEnd(of: id) { (_, claim, _) throws(StoreError) in
            defer { claim.withdraw() }
            return try claim.use { (growth) throws(StoreError) in
                guard range.upperBound <= growth.mark.offset else { return false }
                try growth.content.read(range, body)
                return true
            }
        } ?? false
    }

    /// - Parameter bringsBack: whether one that was published and never ended is made unfinished again; if not, it is forgotten.
    private func withEnd<T>(
        of id: UploadID, bringsBack: Bool = true, _ body: (Assembly, GrowthClaim, Growth) throws(StoreError) -> T?
    ) throws(StoreError) -> T? {
        if let refusal { throw StoreError(refusal.code, refusal.message) }
        guard intake.assemblies[id] != nil || intake.store.hasPart(id) else { return nil }
        let now = intake.clock.monotonic()
        let assembly = try intake.assemblies.enter(
            id, total: nil, GrowthMark.function, accountHolder: accountHolder, now: now)
        defer {
            if assembly.isDiscarded { intake.assemblies.remove(assembly) }
            intake.assemblies.leave(assembly, now: now)
        }
        let found = try assembly.claimEnd(request: intake.nextRequest(), now: now) { () throws(StoreError) in
            try intake.growing(id, for: caller, bringsBack: bringsBack)
        }
        if assembly.isFinished { intake.assemblies.remove(assembly) }
        guard let (claim, growth) = found else { return nil }
        do throws(StoreError) {
            return try body(assembly, claim, growth)
        } catch {
            // A sync that has failed leaves nothing that may be gone on with.
            if growth.isLost {
                claim.withdraw()
                assembly.discard(growth)
            }
            throw error
        }
    }
}

extension Intake {
    /// What the store has of one. Whoever asks must see to it that nobody else has it.
    func growing(
        _ id: UploadID, for caller: Caller, bringsBack: Bool = true
    ) throws(StoreError) -> (any GrowingContent)? {
        try store.growing(id: id, quota: quotas.quota(for: caller.grant)) { (declaration) throws(StoreError) in
            // A crash behind the end of an upload has left its sheet.
            guard bringsBack, stillStored(id, GrowthMark.function, for: caller, hasRotten: true) == nil else {
                return nil
            }
            return try caller.target(of: declaration)
        }
    }
}
