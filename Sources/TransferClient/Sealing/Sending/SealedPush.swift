import TransferCodec
import TransferKeys
import TransferModel
import TransferProtocol
import TransferSealing
import TransferSystem

/// Seals the uploads of one push for its recipients, and keeps or removes the secrets.
final class SealedPush: Sendable {
    let identity: SealingIdentity

    /// The keys that can open the content: every machine of every recipient.
    let recipients: [SealingRecipient]

    /// The keys that can open the notes: the recipients', and the sender's, to know later what was sent.
    var readers: [SealingRecipient] {
        let own = identity.sealing.recipient
        return recipients.contains(own) ? recipients : recipients + [own]
    }

    /// Bytes of a note at most: together with the names of the recipients it has to fit into the protocol's field for
    /// both, and into the room for control frames.
    let mostNoteBytes: Int

    /// The server and the recipients, which with path and destination identify the secrets of an upload.
    private let words: [String]

    private struct Arrivals {
        var waiting: [SealedUploadOfFile] = []
        var isSubmitted = false
    }

    private let arrivals = Locked(Arrivals())
    /// Paths of secrets that may not be durable.
    private let unsynced = Locked<[String]>([])
    /// Held while secrets are synced, so that other threads that need them wait.
    private let syncing = Locked(())
    /// Held while records are written, so that `settle` returns only when all are.
    private let writing = Locked(())

    /// Bytes of a `begin` beside the note and the names, and of what is sent with it.
    private static let otherControl = 512

    /// - Parameters:
    ///   - server: identifies the server.
    ///   - names: names of the recipients.
    init(_ identity: SealingIdentity, server: String, names: [String], _ recipients: [SealingRecipient]) {
        (self.identity, self.recipients) = (identity, recipients)
        let sorted = Set(names.map { PathKey($0) }).sorted().map(\.string)
        words = [server, "\(sorted.count)"] + sorted
        let named = Recipients(names)?.encoded.count ?? 0
        mostNoteBytes = max(0, min(Recipients.mostBytes, OutgoingChunk.controlRoom - Self.otherControl) - named)
    }

    /// Makes the sealed upload that the server gets. An upload that is sealed already, or part of one, is returned as
    /// it is.
    ///
    /// - Returns: `upload` itself also if a record says that the server has acknowledged it: the server must then be
    ///   asked about it before the file is sent again.
    func seal(_ upload: PendingUpload) throws(Failure) -> PendingUpload {
        guard upload.sealed == nil else { return upload }
        switch upload.content {
        case .bytes(let bytes): return try seal(bytes, upload)
        case .stream(let stream):
            let sealing = try SealingStream(stream.source, for: recipients)
            let path = try path(of: upload)
            let sealed = SealedUpload(self, sealing.tag, path, .stream(sealing, wanted: upload.wantedKind))
            return PendingUpload(.stream(BlockStream(sealing)), sealed, of: upload)
        case .file(let place):
            let source = try SealedSource(place, kind: upload.wantedKind)
            return try seal(source, upload)
        case .sealed, .part, .rest, .multipart, .drop: return upload
        }
    }

    private func seal(_ bytes: [UInt8], _ upload: PendingUpload) throws(Failure) -> PendingUpload {
        var content: [UInt8] = []
        let tag = try Failure.whileSealing { () throws(SealingError) in
            let sealer = try Sealer(streamFor: recipients)
            try sealer.seal(bytes.span.bytes, into: &content)
            try sealer.finish(into: &content)
            return sealer.tag
        }
        let kind =
            upload.wantedKind
            ?? bytes.prefix(ContentKind.sampleSize).withUnsafeBytes {
                ContentKind(recognising: $0, isWhole: $0.count == bytes.count)
            }
        let digest = bytes.withUnsafeBytes { ContentDigester.digest(SealedNote.digestFunction, $0) }
        let subject = SealedUpload.Subject.content(
            kind, SealedNote.Content(size: UInt64(bytes.count), digest: digest), modified: nil, permissions: nil)
        return PendingUpload(.bytes(content), SealedUpload(self, tag, try path(of: upload), subject), of: upload)
    }

    private func seal(_ source: SealedSource, _ upload: PendingUpload) throws(Failure) -> PendingUpload {
        let place =
            upload.isIdentified
            ? SealingPlace(in: identity.states, words + [source.place.path.absolutePath, upload.destination]) : nil
        let found = try place?.find(source.binding, recipients)
        if case .record(let record)? = found, !upload.isUnknown {
            upload.recall(record)
            return upload
        }
        let state: SealingState
        if case .state(let kept)? = found {
            state = kept
        } else {
            let new = try Failure.whileSealing { () throws(SealingError) in
                try SealingState(sealing: source.binding, for: recipients)
            }
            // If the file exists, it was read above and is of no use, so it may be replaced.
            state = try place?.keep(new, source.binding, recipients, replaces: place?.exists ?? false) ?? new
        }
        // Sync secrets that existed before, too: the process that made them may have been killed before they were
        // durable.
        if let place { unsynced.withLock { $0.append(place.path) } }
        let tag = try Failure.whileSealing { () throws(SealingError) in try state.tag }
        let subject = SealedUpload.Subject.content(
            source.kind, SealedNote.Content(size: source.file.size, digest: source.content.whole),
            modified: source.file.modified, permissions: source.permissions)
        let sealed = SealedUpload(self, tag, try path(of: upload), subject)
        return PendingUpload(.sealed(SealedFile(source, state, for: recipients, place)), sealed, of: upload)
    }

    /// Never fails: the feed has checked the path.
    private func path(of upload: PendingUpload) throws(Failure) -> RelativePath {
        do throws(RelativePath.Fault) {
            return try RelativePath(upload.destination)
        } catch {
            throw Failure(.invalidPath, error.message)
        }
    }
}

extension SealedPush {
    /// Makes all secrets durable that were kept before. To be called before anything is sent that was sealed with them:
    /// a file whose secrets were lost in a power cut would be delivered a second time. Blocks.
    func makeDurable() {
        syncing.withLock { _ in
            let paths = unsynced.withLock { unsynced in
                defer { unsynced = [] }
                return unsynced
            }
            SealingPlace.makeDurable(paths)
        }
    }
}

// MARK: What has arrived

/// A sealed file for whose upload the server has given the result.
struct SealedUploadOfFile: Sendable {
    let file: SealedFile
    let upload: SealedUpload
    /// Whether the upload cannot be resumed, so that its secrets are removed.
    let isOver: Bool
}

extension SealedPush {
    /// Notes the server's result, so that `settle` replaces or removes the secrets.
    func ended(_ upload: PendingUpload, _ code: ResultCode) {
        guard case .sealed(let file) = upload.content, let sealed = upload.sealed, file.place != nil else { return }
        // The server has other content under this ID, so this upload can never be resumed.
        let isOver = code == .contentMismatch
        guard isOver || code == .committed || code == .alreadyStored else { return }
        arrivals.withLock { $0.waiting.append(SealedUploadOfFile(file: file, upload: sealed, isOver: isOver)) }
    }

    /// Whether the caller has to arrange a call of `settle`; true only once before that call.
    var hasToSettle: Bool {
        arrivals.withLock { arrivals in
            defer { arrivals.isSubmitted = arrivals.isSubmitted || !arrivals.waiting.isEmpty }
            return !arrivals.waiting.isEmpty && !arrivals.isSubmitted
        }
    }

    /// Puts records in the place of secrets that are no longer needed. When it returns, this is done for all uploads
    /// that had ended before. Blocks.
    func settle() {
        writing.withLock { _ in
            var paths: [String] = []
            while let arrived = takeArrived() {
                guard let place = arrived.file.place else { continue }
                guard !arrived.isOver,
                    let binding = try? arrived.file.source.binding.binding(recipients)
                else {
                    place.remove()
                    continue
                }
                paths.append(place.path)
                place.keep(
                    SealingRecord(
                        binding: binding, id: arrived.upload.id, size: arrived.file.source.file.size,
                        sealedSize: arrived.file.size, kind: arrived.upload.kind))
            }
            SealingPlace.makeDurable(paths)
        }
    }

    private func takeArrived() -> SealedUploadOfFile? {
        arrivals.withLock { arrivals in
            if arrivals.waiting.isEmpty { arrivals.isSubmitted = false }
            return arrivals.waiting.popLast()
        }
    }
}
