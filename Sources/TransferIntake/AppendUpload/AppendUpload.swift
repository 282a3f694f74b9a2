import TransferCodec
import TransferModel
import TransferPorts
import TransferSystem

/// The state of an append upload: what is written and digested, and how much of it is durable.
///
/// `@unchecked Sendable`: used only under the claim on the upload, by the thread that writes.
final class AppendUpload: @unchecked Sendable {
    let content: any AppendableContent

    /// Whether the bytes behind the durable ones are unproven: they only count once their request is complete.
    var isUnproven = false

    /// When the content was last made durable, in nanoseconds of the monotonic clock.
    private(set) var lastKept: Int64

    /// The size and digests of what is written.
    private(set) var mark: AppendMark

    /// Whether it is unknown what is durable, after a sync has failed.
    private(set) var isLost = false

    /// Whether another server has taken the upload over, so that this is not its state any more.
    private(set) var isStale = false

    /// A digest of all content so far, kept in case it is requested again.
    var digested: (function: DigestFunction, offset: UInt64, digest: [UInt8])?

    private let digester: ContentDigester

    /// - Throws: if the durable content cannot be read.
    init(_ content: any AppendableContent, now: Int64) throws(Failure) {
        self.content = content
        mark = content.kept
        digester = ContentDigester(mark.function)
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

    /// Sets the size of the upload.
    ///
    /// - Throws: if another size was declared before, or if the upload is longer already.
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

    /// Makes what is written durable (keeps it). If there is no room to record that, the new bytes have to be
    /// forgotten.
    func keep(now: Int64) throws(Failure) {
        mark.tail = digester.tail
        do throws(Failure) {
            try content.keep(mark)
        } catch {
            (isLost, isUnproven, isStale) = (content.isLost, true, error == .takenOver)
            throw error
        }
        lastKept = now
    }

    /// Does the same as `keep`, but throws only if it is then unknown what is durable. After any other failure, the
    /// caller calls `rollBack` next.
    func keepOrForget(now: Int64) throws(Failure) {
        do throws(Failure) {
            try keep(now: now)
        } catch {
            guard !isLost else { throw error }
        }
    }

    /// Writes down the state for a later server, in case this one dies before the upload is ended.
    func note() {
        mark.tail = digester.tail
        content.note(mark)
    }

    /// Forgets what is not durable. The last, partial block is read and digested again.
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

    /// - Returns: the digest of all content. Nothing may be appended afterwards.
    func finish() -> Digest { digester.finish().digest }
}

/// The claim of one request on the end of an upload. A newer request takes it over, after any write that is under way
/// has ended.
final class AppendClaim: Sendable {
    let multipart: MultipartUpload
    let appendUpload: AppendUpload
    private let claim: PartClaim

    init(_ claim: PartClaim, on multipart: MultipartUpload, _ appendUpload: AppendUpload) {
        (self.claim, self.multipart, self.appendUpload) = (claim, multipart, appendUpload)
    }

    /// - Throws: `incomplete` if a newer request has the claim; errors of `body`.
    func use<T>(_ body: (AppendUpload) throws(Failure) -> T) throws(Failure) -> T {
        try multipart.beginWriting(claim)
        defer { multipart.endWriting(claim) }
        return try body(appendUpload)
    }

    /// Ends the upload and hands out its content.
    ///
    /// - Throws: `incomplete` if a newer request has the claim; `busy` if the upload is being completed.
    func finish() throws(Failure) -> (staged: any StagedContent, digest: Digest) {
        try multipart.finishAppend(claim, appendUpload)
    }

    /// Gives up the claim of the request.
    func withdraw() { multipart.withdraw(claim, digests: []) }
}

extension MultipartUpload {
    /// Claims the end of the upload, so that all older requests lose it. Bytes that they have written are made durable,
    /// but the bytes of a request that only counts as a whole are forgotten.
    ///
    /// - Parameters:
    ///   - request: the number of the request; newer requests have greater numbers.
    ///   - open: opens the upload in the store, if it is not open.
    /// - Returns: nil if there is no such upload.
    /// - Throws: `incomplete` if a newer request has the claim; `busy` if the upload is being completed; errors of
    ///   `open` and of the disk.
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
        // A newer request may have come while this one waited.
        guard monitor.state.claims.allSatisfy({ $0.claim.connection <= request }) else { throw .takenOver }
        monitor.state.revoke(0..<UInt64.max)
        let claim = PartClaim(0..<UInt64.max, connection: request, of: self, in: appendUpload.content.content)
        monitor.state.claims.append(Held(claim: claim))
        waitForWriters(of: 0..<UInt64.max)
        return (claim, appendUpload)
    }

    /// Called with the lock held; releases it while a disk is at work.
    private func appendUpload(
        now: Int64, _ open: () throws(Failure) -> (any AppendableContent)?
    ) throws(Failure) -> AppendUpload? {
        if let appendUpload = monitor.state.appendUpload {
            guard appendUpload.isStale else { return appendUpload }
            (monitor.state.appendUpload, monitor.state.place) = (nil, .none)
        }
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
        // If another request has opened the upload, its state is used. An upload that was opened for parts has no such
        // state.
        guard let appendUpload = monitor.state.appendUpload else { throw .declaredOtherwise }
        return appendUpload
    }

    /// Ends the upload for its last request and hands out its content.
    ///
    /// - Throws: `incomplete` if a newer request has the claim; `busy` if the upload is being completed.
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

    /// Whether this is an append upload, which has no parts.
    var isAppend: Bool { monitor.withLock { monitor.state.appendUpload != nil } }

    /// Ends and discards an upload that cannot be resumed. The caller removes it from `MultipartUploads`.
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

/// What the server has of an append upload.
package struct UnfinishedAppend: Equatable, Sendable {
    /// The declaration, with the path as the client names it, and no bytes to append.
    package let intent: UploadIntent

    /// Bytes that are durable. Their number never decreases.
    package let offset: UInt64

    /// Bytes of the whole upload; nil until the client has declared them.
    package let total: UInt64?

    /// Bytes that the front end has stored with the upload.
    package let note: [UInt8]

    /// When the upload will be removed unless something is added to it; UTC, in nanoseconds since 1970.
    package let expires: Int64

    init(_ id: UploadID, _ declaration: AppendDeclaration, _ mark: AppendMark, expires: Int64) {
        (offset, total, self.expires) = (mark.offset, mark.total ?? declaration.total, expires)
        intent = UploadIntent(
            id: id, path: declaration.path, size: nil, kind: declaration.kind, function: mark.function,
            conflict: declaration.conflict, modified: declaration.modified, permissions: declaration.permissions,
            extent: .append(UploadAppend(at: offset, total: total, ending: .never)))
        note = declaration.note
    }
}
