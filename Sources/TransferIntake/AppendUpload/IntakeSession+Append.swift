import Synchronization
import TransferAccess
package import TransferModel
import TransferStore

/// Append uploads, request by request.
extension IntakeSession {
    /// What there is of one. All older requests for it lose it.
    ///
    /// - Parameter id: the server's.
    /// - Returns: nothing where there is none.
    /// - Throws: `busy` when it is being completed, `incomplete` when a newer request works on it, and what the disk says.
    package func unfinishedAppend(_ id: UploadID) throws(Failure) -> UnfinishedAppend? {
        // What a client that is gone has sent may be read only now, and take it over: whoever asks again is newer.
        for _ in 1..<Self.mostQuestions {
            do throws(Failure) {
                return try lookAtEnd(of: id)
            } catch {
                guard error == .takenOver else { throw error }
            }
        }
        return try lookAtEnd(of: id)
    }

    /// Times that a question is asked where others come between.
    private static let mostQuestions = 4

    private func lookAtEnd(of id: UploadID) throws(Failure) -> UnfinishedAppend? {
        try withEnd(of: id) { (_, claim, appendUpload) throws(Failure) in
            defer { claim.withdraw() }
            guard let declaration = AppendDeclaration(appendUpload.content.declaration) else { return nil }
            // Nobody is told of one whose names a power cut could take.
            let mark = try claim.use { (appendUpload) throws(Failure) in
                try appendUpload.keep(now: intake.clock.monotonic())
                return appendUpload.mark
            }
            let written = intake.store.part(id)?.written ?? intake.clock.utc()
            let (expires, isNever) = written.addingReportingOverflow(intake.keepUnfinished)
            return UnfinishedAppend(
                id, declaration, offset: mark.offset, total: mark.total ?? declaration.total,
                expires: isNever ? .max : expires)
        }
    }

    /// Throws one away, at the wish of its sender.
    ///
    /// - Parameter id: the server's.
    /// - Returns: whether there was one.
    package func takeBack(append id: UploadID) throws(Failure) -> Bool {
        let wasKnown = intake.multiparts[id] != nil || intake.store.hasPart(id)
        return try withEnd(of: id, bringsBack: false) { (multipart, claim, appendUpload) in
            claim.withdraw()
            multipart.discard(appendUpload)
            return true
        } ?? wasKnown
    }

    /// Reads what there is of one, to make it a part of another.
    ///
    /// - Parameter body: is given the bytes piece by piece.
    /// - Returns: false where there is none, or not so much.
    package func read(
        append id: UploadID, _ range: Range<UInt64>, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        try withEnd(of: id) { (_, claim, _) throws(Failure) in
            defer { claim.withdraw() }
            return try claim.use { (appendUpload) throws(Failure) in
                guard range.upperBound <= appendUpload.mark.offset else { return false }
                try appendUpload.content.read(range, body)
                return true
            }
        } ?? false
    }

    /// - Parameter bringsBack: whether one that was published and never ended is made unfinished again; if not, it is forgotten.
    private func withEnd<T>(
        of id: UploadID, bringsBack: Bool = true,
        _ body: (MultipartUpload, AppendClaim, AppendUpload) throws(Failure) -> T?
    ) throws(Failure) -> T? {
        if let refusal { throw Failure(refusal.code, refusal.message) }
        guard intake.multiparts[id] != nil || intake.store.hasPart(id) else { return nil }
        let now = intake.clock.monotonic()
        let multipart = try intake.multiparts.enter(
            id, total: nil, AppendMark.function, accountHolder: accountHolder, now: now)
        defer {
            if multipart.isDiscarded { intake.multiparts.remove(multipart) }
            intake.multiparts.leave(multipart, now: now)
        }
        let found = try multipart.claimEnd(request: intake.nextRequest(), now: now) { () throws(Failure) in
            try intake.appendable(id, for: caller, bringsBack: bringsBack)
        }
        if multipart.isFinished { intake.multiparts.remove(multipart) }
        guard let (claim, appendUpload) = found else { return nil }
        do throws(Failure) {
            return try body(multipart, claim, appendUpload)
        } catch {
            // A sync that has failed leaves nothing that may be gone on with.
            if appendUpload.isLost {
                claim.withdraw()
                multipart.discard(appendUpload)
            }
            throw error
        }
    }
}

extension Intake {
    /// What the store has of one. Whoever asks must see to it that nobody else has it.
    func appendable(
        _ id: UploadID, for caller: Caller, bringsBack: Bool = true
    ) throws(Failure) -> (any AppendableContent)? {
        try store.appendable(id: id, quota: quotas.quota(for: caller.grant)) { (declaration) throws(Failure) in
            // A crash behind the end of an upload has left its sheet.
            guard bringsBack, stillStored(id, AppendMark.function, for: caller, hasRotten: true) == nil else {
                return nil
            }
            return try caller.target(of: declaration)
        }
    }
}
