import Synchronization
import TransferCodec
import TransferHTTP
import TransferIO
import TransferModel

/// Uploads by tus.
extension HTTPPushSession {
    func step(_ job: HTTPJob, _ upload: PendingUpload, _ machine: TusUpload) async -> Bool {
        var machine = machine
        let reply: HTTPReply
        switch machine.step {
        case .nothing: return false
        case .ask: reply = await perform(machine.ask(), .none)
        case .create(let takesContent):
            upload.begun.add(1, ordering: .relaxed)
            var (piece, body): (TusUpload.Piece?, HTTPBody) = (nil, .none)
            if takesContent {
                switch await self.piece(job.content, at: 0) {
                case .failure(let failure):
                    report(upload, failure)
                    return true
                case .success(nil): return false
                case .success(let (made, bytes)?): (piece, body) = (made, .bytes(bytes))
                }
            }
            current = (upload, 0, 0)
            reply = await perform(machine.create(metadata: metadata(upload, job.content), piece), body)
        case .send(let offset):
            switch await piece(job.content, at: offset) {
            case .failure(let failure):
                report(upload, failure)
                return true
            case .success(nil): return false
            case .success(let (piece, bytes)?):
                current = (upload, offset, 0)
                reply = await perform(machine.send(piece), .bytes(bytes))
            }
        }
        return await take(reply, job, upload, machine)
    }

    private func take(_ reply: HTTPReply, _ job: HTTPJob, _ upload: PendingUpload, _ before: TusUpload) async -> Bool {
        var machine = before
        switch reply {
        case .failed(let failure):
            report(upload, failure)
            return true
        case .lost(let isAllSent):
            let isDoubtful = machine.lost(isAllSent: isAllSent) != nil
            job.machine = .tus(machine)
            if isDoubtful { report(upload, .doubtful("the connection was lost")) }
            return isDoubtful
        case .answer(let answer):
            let (web, reached) = (push.web, machine.offset)
            if let count = answer.cut { machine.cut(to: count) }
            let verdict = machine.take(answer.head) { web.target(of: $0, from: answer.target) }
            job.machine = .tus(machine)
            await remember(verdict, machine, job)
            if machine.offset > reached {
                job.progressed()
                hasProgressed = true
            }
            return await take(verdict, answer, job, upload)
        }
    }

    /// For a later run: what has an end is over, and what waits or goes on is not.
    private func remember(_ verdict: UploadVerdict, _ machine: TusUpload, _ job: HTTPJob) async {
        guard let place = job.place else { return }
        switch verdict {
        case .complete, .failed, .skipped, .anew: await run.pool.run { place.remove() }
        case .goOn, .wait:
            let record = machine.location.map { TusPlace.Record(location: $0, isCompared: machine.isCompared) }
            guard let record, record != job.kept else { return }
            job.kept = record
            await run.pool.run { place.keep(record) }
        }
    }

    /// Digests what an earlier run has sent, so that all of the content can be compared at the end.
    private func catchUp(_ content: HTTPContent, to offset: UInt64) async -> Failure? {
        while isUsable, content.digested < offset {
            let most = Int(min(TusUpload.pieceSize, offset - content.digested))
            let read = await read(content, at: content.digested, most: most, unless: { !$0.isUsable })
            if case .failure(let failure) = read { return failure }
        }
        return nil
    }

    private func piece(
        _ content: HTTPContent, at offset: UInt64
    ) async -> Result<(TusUpload.Piece, [UInt8])?, Failure> {
        if content.file != nil, let failure = await catchUp(content, to: offset) { return .failure(failure) }
        let read = await read(content, at: offset, most: Int(TusUpload.pieceSize), unless: { !$0.isUsable })
        guard case .success(let (bytes, isLast)?) = read else { return read.map { _ in nil } }
        let algorithm = push.offer?.tus?.checksum
        let checksum = await run.pool.run { algorithm?.value(of: bytes) }
        return .success((TusUpload.Piece(count: UInt64(bytes.count), isLast: isLast, checksum: checksum), bytes))
    }

    private func metadata(_ upload: PendingUpload, _ content: HTTPContent) -> String? {
        let name = upload.destination.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? ""
        return UploadMetadata.text([
            (key: "filename", value: name), (key: "name", value: name), (key: "filetype", value: content.mediaType),
            (key: "relativePath", value: upload.destination),
        ])
    }
}

extension TusOffer.Checksum {
    /// The value of `Upload-Checksum`.
    fileprivate func value(of bytes: [UInt8]) -> String? {
        let digest = bytes.withUnsafeBytes { bytes in
            switch self {
            case .sha256: ChecksumHasher.digest(.sha256, bytes)
            case .sha1: ChecksumHasher.digest(.sha1, bytes)
            }
        }
        return "\(rawValue) \(Base64Text.encode(digest))"
    }
}
