import Synchronization
import TransferAccess
package import TransferModel
import TransferPorts

/// Requests for append uploads, one at a time.
extension IntakeSession {
    /// Says what the server has of an append upload. All older requests lose their claim on it.
    ///
    /// - Parameter id: the server's id.
    /// - Returns: nil if there is no such upload.
    /// - Throws: `busy` if the upload is being completed, `incomplete` if a newer request works on it, and errors of
    ///   the disk.
    package func unfinishedAppend(_ id: UploadID) throws(Failure) -> UnfinishedAppend? {
        // A request that came over a lost connection is sometimes read only now, and takes the claim. The next attempt
        // takes it back, because its number is newer.
        for _ in 1..<Self.mostQuestions {
            do throws(Failure) {
                return try lookAtEnd(of: id)
            } catch {
                guard error == .takenOver else { throw error }
            }
        }
        return try lookAtEnd(of: id)
    }

    /// The most attempts to look at the end of an upload, if other requests take the claim meanwhile.
    private static let mostQuestions = 4

    private func lookAtEnd(of id: UploadID) throws(Failure) -> UnfinishedAppend? {
        try withEnd(of: id) { (claim) throws(Failure) in
            defer { claim.withdraw() }
            guard let declaration = AppendDeclaration(claim.appendUpload.content.declaration) else { return nil }
            // A power cut could still remove the names of the upload, so they are made durable before the client learns
            // of it.
            let mark = try claim.use { (appendUpload) throws(Failure) in
                try appendUpload.keep(now: intake.clock.monotonic())
                return appendUpload.mark
            }
            let written = intake.store.parts?.part(id)?.written ?? intake.clock.utc()
            let (expires, isNever) = written.addingReportingOverflow(intake.keepUnfinished)
            return UnfinishedAppend(id, declaration, mark, expires: isNever ? .max : expires)
        }
    }

    /// Discards an append upload that its client has taken back.
    ///
    /// - Parameter id: the server's id.
    /// - Returns: whether the server had such an upload.
    package func takeBack(append id: UploadID) throws(Failure) -> Bool {
        let wasKnown = intake.multiparts[id] != nil || intake.hasPart(id)
        return try withEnd(of: id, bringsBack: false) { (claim) throws(Failure) in
            claim.withdraw()
            claim.multipart.discard(claim.appendUpload)
            // Another server may have taken the upload over, whose content this one does not discard.
            if intake.store.abilities.isShared { try intake.store.parts?.removePart(id) }
            return true
        } ?? wasKnown
    }

    /// Reads an append upload, to make it a part of another one.
    ///
    /// - Parameter body: receives the bytes piece by piece.
    /// - Returns: false if there is no such upload, or if it ends before the range does.
    package func read(
        append id: UploadID, _ range: Range<UInt64>, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        try withEnd(of: id) { (claim) throws(Failure) in
            defer { claim.withdraw() }
            return try claim.use { (appendUpload) throws(Failure) in
                guard range.upperBound <= appendUpload.mark.offset else { return false }
                try appendUpload.content.read(range, body)
                return true
            }
        } ?? false
    }

    /// - Parameter bringsBack: whether an upload that was published and never ended becomes unfinished again; if not,
    ///   it is forgotten.
    private func withEnd<T>(
        of id: UploadID, bringsBack: Bool = true, _ body: (AppendClaim) throws(Failure) -> T?
    ) throws(Failure) -> T? {
        if let refusal { throw Failure(refusal.code, refusal.message) }
        guard intake.multiparts[id] != nil || intake.hasPart(id) else { return nil }
        let now = intake.clock.monotonic()
        let multipart = try intake.multiparts.enter(
            id, total: nil, nil, accountHolder: accountHolder, now: now)
        defer {
            if multipart.isDiscarded { intake.multiparts.remove(multipart) }
            intake.multiparts.leave(multipart, now: now)
        }
        let claim = try multipart.claimEnd(request: intake.nextRequest(), now: now) { () throws(Failure) in
            try intake.appendable(id, for: caller, bringsBack: bringsBack)
        }
        if multipart.isFinished { intake.multiparts.remove(multipart) }
        guard let claim else { return nil }
        do throws(Failure) {
            return try body(claim)
        } catch {
            // After a failed sync, the content must not be resumed.
            if claim.appendUpload.isLost {
                claim.withdraw()
                multipart.discard(claim.appendUpload)
            }
            throw error
        }
    }
}

extension Intake {
    /// Opens the append upload in the store. The caller must ensure that no other thread uses it.
    func appendable(
        _ id: UploadID, for caller: Caller, bringsBack: Bool = true
    ) throws(Failure) -> (any AppendableContent)? {
        try appendStore().appendable(id: id, quota: quotas.quota(for: caller.grant)) {
            (declaration, function) throws(Failure) in
            // A crash behind the end of an upload has left its sheet.
            // An upload that was published before the crash and is still stored is not resumed.
            guard bringsBack, stillStored(id, function, for: caller, hasRotten: true) == nil else {
                return nil
            }
            return try caller.target(of: declaration)
        }
    }
}

/// The declaration of an append upload as it is stored beside the content, for a later server that resumes it.
///
/// In network byte order: the version of the format (1), the conflict policy, the kind, flags (1: a total, 2: a time of
/// modification, 4: permissions), the time when the upload began, the total, the time of modification (seconds,
/// nanoseconds), the permissions, and the path and the note, each preceded by 4 bytes with its length.
package struct AppendDeclaration: Equatable, Sendable {
    /// The path as its client names it.
    var path: String
    var conflict: ConflictPolicy
    var kind: ContentKind
    var total: UInt64?
    var modified: Timestamp?
    var permissions: UInt16?
    /// When the upload began: UTC, in nanoseconds since 1970.
    var begun: Int64
    /// The note of the front end.
    var note: [UInt8]

    private static let version: UInt8 = 1

    /// Bytes that precede the path.
    private static let fixed = 4 + 8 + 8 + 8 + 4 + 2

    package var bytes: [UInt8] {
        var bytes: [UInt8] = [Self.version, conflict.rawValue, kind.rawValue]
        bytes.append((total == nil ? 0 : 1) | (modified == nil ? 0 : 2) | (permissions == nil ? 0 : 4))
        bytes.append(bigEndian: begun)
        bytes.append(bigEndian: total ?? 0)
        bytes.append(bigEndian: modified?.seconds ?? 0)
        bytes.append(bigEndian: modified?.nanoseconds ?? 0)
        bytes.append(bigEndian: permissions ?? 0)
        for field in [Array(path.utf8), note] {
            bytes.append(bigEndian: UInt32(clamping: field.count))
            bytes += field
        }
        return bytes
    }

    /// - Parameter intent: the intent, with the path as its client names it.
    init(_ intent: UploadIntent, _ append: UploadAppend, begun: Int64) {
        (path, conflict, kind, total) = (intent.path, intent.conflict, intent.kind, append.total)
        (modified, permissions, note) = (intent.modified, intent.permissions, append.note)
        self.begun = begun
    }

    /// - Returns: nil for bytes that are not a declaration.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.fixed, bytes[0] == Self.version, let conflict = ConflictPolicy(rawValue: bytes[1]),
            let kind = ContentKind(rawValue: bytes[2])
        else { return nil }
        let span = bytes.span.bytes
        let nanoseconds = span.bigEndian(at: 28, as: UInt32.self)
        guard nanoseconds < 1_000_000_000 else { return nil }
        let flags = bytes[3]
        begun = span.bigEndian(at: 4, as: Int64.self)
        total = flags & 1 == 0 ? nil : span.bigEndian(at: 12, as: UInt64.self)
        modified =
            flags & 2 == 0
            ? nil : Timestamp(seconds: span.bigEndian(at: 20, as: Int64.self), nanoseconds: nanoseconds)
        permissions = flags & 4 == 0 ? nil : span.bigEndian(at: 32, as: UInt16.self)
        (self.conflict, self.kind) = (conflict, kind)
        var rest = bytes[Self.fixed...]
        guard let path = Self.field(&rest), let note = Self.field(&rest), rest.isEmpty,
            let text = String(validating: path, as: UTF8.self)
        else { return nil }
        (self.path, self.note) = (text, note)
    }

    private static func field(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        guard rest.count >= 4 else { return nil }
        let size = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard rest.count - 4 >= size else { return nil }
        defer { rest = rest.dropFirst(4 + size) }
        return Array(rest.dropFirst(4).prefix(size))
    }
}

extension Caller {
    /// Maps a stored declaration to the place where the upload goes.
    ///
    /// - Returns: nil if the declaration or its path is invalid.
    /// - Throws: `forbidden` for a client that may not send now; `invalidPath`.
    func target(of declaration: [UInt8]) throws(Failure) -> UploadTarget? {
        guard let declared = AppendDeclaration(declaration) else { return nil }
        let place = try pathForUpload(declared.path)
        return (try? RelativePath(place)).map { ($0, declared.conflict) }
    }
}
