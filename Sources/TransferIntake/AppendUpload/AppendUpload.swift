import TransferCodec
import TransferModel
import TransferPorts
import TransferSystem

/// How far an upload is that grows at its end: what is written and digested, and what of that is durable.
///
/// `@unchecked Sendable`: touched by whoever has the claim on the upload, while it writes for it, and by nobody else.
final class AppendUpload: @unchecked Sendable {
    let content: any AppendableContent

    /// Whether what is behind the durable part must not count before its request is over.
    var isUnproven = false

    /// When it was last kept, in nanoseconds of the monotonic clock.
    private(set) var lastKept: Int64

    /// What is written.
    private(set) var mark: AppendMark

    /// Whether nobody can say what is durable any more.
    private(set) var isLost = false

    /// What another function than the server's own made of all there was, for whoever asks again.
    var digested: (function: DigestFunction, offset: UInt64, digest: [UInt8])?

    private let digester = ContentDigester(AppendMark.function)

    /// - Throws: when what is durable cannot be read.
    init(_ content: any AppendableContent, now: Int64) throws(Failure) {
        self.content = content
        mark = content.kept
        lastKept = now
        do throws(Failure) {
            try rollBack()
        } catch {
            if isLost { content.discard() }
            throw error
        }
    }

    /// Bytes that are written and not durable.
    var unkept: UInt64 { mark.offset - min(content.kept.offset, mark.offset) }

    /// - Throws: when it is declared otherwise than before, or is longer already.
    func declare(total: UInt64) throws(Failure) {
        guard mark.total ?? total == total, mark.offset <= total else { throw .declaredOtherwise }
        mark.total = total
    }

    func append(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
        digested = nil
        try content.content.write(bytes, at: mark.offset)
        digester.update(bytes) { _, digest in mark.blocks += digest }
        mark.offset = digester.size
    }

    /// Makes what is written durable. What cannot be, because there is no room to say that it is, is to be forgotten.
    func keep(now: Int64) throws(Failure) {
        mark.tail = digester.tail
        do throws(Failure) {
            try content.keep(mark)
        } catch {
            (isLost, isUnproven) = (content.isLost, true)
            throw error
        }
        lastKept = now
    }

    /// As above, where it is nobody's request that fails: unless all is lost, `rollBack` has to follow.
    func keepOrForget(now: Int64) throws(Failure) {
        do throws(Failure) {
            try keep(now: now)
        } catch {
            guard !isLost else { throw error }
        }
    }

    /// Writes down what there is, for the server that comes when this one dies before the upload is ended.
    func note() {
        mark.tail = digester.tail
        content.note(mark)
    }

    /// Forgets what is not durable. The block that this ends in is digested again from what is there.
    func rollBack() throws(Failure) {
        let kept = content.kept
        if kept.offset != mark.offset { digested = nil }
        mark = kept
        digester.reset(after: kept.blocks)
        guard digester.size < kept.offset else { return }
        try content.read(digester.size..<kept.offset) { (bytes) in digester.update(bytes) { _, _ in } }
        guard digester.tail == kept.tail else {
            isLost = true
            throw .appendLost
        }
    }

    /// - Returns: of all of it; nothing may be appended any more.
    func finish() -> Digest { digester.finish().digest }
}

/// The right to append to an upload, of one request. A newer request for the upload takes it, and waits until this one is not
/// just at it.
final class AppendClaim: Sendable {
    let multipart: MultipartUpload
    let appendUpload: AppendUpload
    private let claim: PartClaim

    init(_ claim: PartClaim, on multipart: MultipartUpload, _ appendUpload: AppendUpload) {
        (self.claim, self.multipart, self.appendUpload) = (claim, multipart, appendUpload)
    }

    /// - Throws: `incomplete` when another has taken it over, and what `body` throws.
    func use<T>(_ body: (AppendUpload) throws(Failure) -> T) throws(Failure) -> T {
        try multipart.beginWriting(claim)
        defer { multipart.endWriting(claim) }
        return try body(appendUpload)
    }

    /// Ends the upload, and hands out what it holds.
    ///
    /// - Throws: `incomplete` when another has taken it over; `busy` when it is being completed.
    func finish() throws(Failure) -> (staged: any StagedContent, digest: Digest) {
        try multipart.finishAppend(claim, appendUpload)
    }

    /// Ends it.
    func withdraw() { multipart.withdraw(claim, digests: []) }
}

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
    ) throws(Failure) -> AppendClaim? {
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
        return appending
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

/// What there is of an append upload.
package struct UnfinishedAppend: Equatable, Sendable {
    /// As its sender has declared it, with the path as the sender names it and nothing to append.
    package let intent: UploadIntent

    /// Bytes that are durable. They never become fewer.
    package let offset: UInt64

    /// Bytes of the upload, where its sender has said so.
    package let total: UInt64?

    /// What the front end has kept with it.
    package let note: [UInt8]

    /// When it goes unless something is added to it; UTC, in nanoseconds since 1970.
    package let expires: Int64

    init(_ id: UploadID, _ declaration: AppendDeclaration, offset: UInt64, total: UInt64?, expires: Int64) {
        intent = UploadIntent(
            id: id, path: declaration.path, size: nil, kind: declaration.kind, conflict: declaration.conflict,
            modified: declaration.modified, permissions: declaration.permissions,
            extent: .append(UploadAppend(at: offset, total: total, ending: .never)))
        (self.offset, self.total, self.expires) = (offset, total, expires)
        note = declaration.note
    }
}
