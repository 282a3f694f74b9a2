import Synchronization
import TransferCodec
import TransferHTTP
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// Finding out the server's abilities, and sending uploads.
extension HTTPPushSession {
    /// Asks what the server supports. The answer is no promise, so only a refusal of this client ends the push.
    func discover() async {
        switch await perform(RequestHead(.options, push.web.path), .none) {
        case .lost: end(.lost("the server closed the connection"))
        case .failed(let failure): end(.unsupported("\(failure.message) Nothing was sent."))
        case .answer(let answer):
            guard answer.head.status != 401 else {
                let message =
                    "It answered 401 Unauthorized to this client's password, token or certificate, and nothing was sent"
                return end(.refused(UploadResult(id: .none, code: .authenticationRequired, message: message)))
            }
            let path = String(Substring(answer.target.utf8.prefix { $0 != UInt8(ascii: "?") }))
            push.offer = HTTPPush.Offer(
                tus: TusOffer(answer.head), takesPolicy: answer.head.fields.has(PutUpload.policiesField), path: path)
            run.channel.send(.connected(server: push.web.description))
        }
    }

    /// Sends one upload completely, or as far as the connection lasts.
    func send(_ upload: PendingUpload) async {
        let job: HTTPJob
        if let begun = push.job(of: upload) {
            job = begun
        } else {
            switch await open(upload) {
            case .failure(let failure): return report(upload, failure)
            case .success(let opened): job = opened
            }
            push.keep(job, for: upload)
        }
        while isUsable {
            if await step(job, upload) { return }
        }
        current = nil
        guard job.content.canGoOn(job.machine) else {
            return report(upload, ending == .cancelled ? .stopped : .connectionLost)
        }
        run.feed.putBack([upload])
    }

    func report(_ report: UploadReport) { push.report(report) }

    func report(_ upload: PendingUpload, _ failure: Failure) { end(upload, .failed(upload, failure)) }

    private func end(_ upload: PendingUpload, _ report: UploadReport) {
        current = nil
        hasProgressed = true
        push.end(upload)
        self.report(report)
    }

    private func open(_ upload: PendingUpload) async -> Result<HTTPJob, Failure> {
        guard let offer = push.offer else { return .failure(.connectionLost) }
        let (web, states) = (push.web, offer.tus == nil ? nil : run.configuration.uploadStates)
        let opened = await run.pool.run {
            Result { () throws(Failure) in
                let content = try HTTPContent(upload)
                let place = TusPlace(in: states.map { StateFolder(path: $0) }, web, content)
                return (content, place, place?.find())
            }
        }
        return opened.flatMap { content, place, record in
            Result { () throws(Failure) in
                let machine = try machine(upload, content, offer)
                return HTTPJob(content, goingOn(machine, content, record, offer), place)
            }
        }
    }

    /// - Parameter record: the record of an earlier run; it is ignored if its address cannot be one that this server
    ///   has named.
    private func goingOn(
        _ machine: HTTPJob.Machine, _ content: HTTPContent, _ record: TusPlace.Record?, _ offer: HTTPPush.Offer
    ) -> HTTPJob.Machine {
        guard case .tus = machine, let record, let tus = offer.tus, let size = content.size,
            case .success(let target) = push.web.target(of: Array(record.location.utf8), from: offer.path)
        else { return machine }
        return .tus(
            TusUpload(tus, at: offer.path, goingOnAt: target, length: size, isCompared: record.isCompared))
    }

    private func machine(
        _ upload: PendingUpload, _ content: HTTPContent, _ offer: HTTPPush.Offer
    ) throws(Failure) -> HTTPJob.Machine {
        let policy = run.configuration.conflict
        if let tus = offer.tus, policy == .keepBoth || !offer.takesPolicy {
            guard policy == .keepBoth else {
                throw .unsuitable(
                    "The tus protocol cannot say what to do when a file exists; push without --on-conflict.")
            }
            guard content.size != nil || tus.takesUnknownLength else {
                throw .unsuitable(
                    "The server requires the length first, and a stream has none; save it to a file to push it.")
            }
            guard content.size ?? 0 <= tus.maxSize ?? .max else {
                throw Failure(
                    .uploadTooLarge, "The server accepts at most \(ByteFormat.size(tus.maxSize ?? 0)).")
            }
            return .tus(TusUpload(tus, at: offer.path, length: content.size))
        }
        do throws(RelativePath.Fault) {
            let name = try RelativePath(upload.destination)
            let folder = offer.path.utf8.last == UInt8(ascii: "/") ? offer.path : offer.path + "/"
            return .put(PutUpload(in: folder, name: name, policy, isTold: offer.takesPolicy))
        } catch {
            throw Failure(.invalidPath, error.message)
        }
    }

    /// Makes the next request for an upload.
    ///
    /// - Returns: whether the upload has its report.
    private func step(_ job: HTTPJob, _ upload: PendingUpload) async -> Bool {
        switch job.machine {
        case .tus(let machine): await step(job, upload, machine)
        case .put(let machine): await step(job, upload, machine)
        }
    }

    // MARK: PUT

    private func step(_ job: HTTPJob, _ upload: PendingUpload, _ machine: PutUpload) async -> Bool {
        var machine = machine
        let reply: HTTPReply
        switch machine.step {
        case .makeFolder: reply = await perform(machine.makeFolder(), .none)
        case .put:
            if let failure = await digest(job.content) {
                report(upload, failure)
                return true
            }
            guard isUsable else { return false }
            upload.begun.add(1, ordering: .relaxed)
            current = (upload, 0, 0)
            reply = await perform(head(machine.put(), job.content), .content(job.content))
        }
        switch reply {
        case .failed(let failure):
            report(upload, failure)
            return true
        case .lost(let isAllSent):
            machine.lost(isAllSent: isAllSent)
            job.machine = .put(machine)
            return false
        case .answer(let answer):
            let verdict = machine.take(answer.head)
            job.machine = .put(machine)
            if !job.content.canGoOn(job.machine), case .goOn = verdict {
                report(upload, .answered(Failure(.unsuitable, Self.streamIsGone), answer))
                return true
            }
            return await take(verdict, answer, job, upload)
        }
    }

    private static let streamIsGone =
        "The server asks for the content again, and the stream cannot be read again."

    /// Digests content of known size before it is sent, so that the request can state the digest.
    private func digest(_ content: HTTPContent) async -> Failure? {
        guard let size = content.size else { return nil }
        while isUsable, content.sha256 == nil, content.digested < size {
            let most = Int(TusUpload.pieceSize)
            switch await read(content, at: content.digested, most: most, unless: { !$0.isUsable }) {
            case .failure(let failure): return failure
            case .success: continue
            }
        }
        return nil
    }

    private func head(_ head: RequestHead, _ content: HTTPContent) -> RequestHead {
        var fields = head.fields
        fields.append("Content-Type", content.mediaType)
        if content.size != nil, let digest = content.sha256 {
            fields.append("Repr-Digest", DigestField(sha256: digest).text)
        }
        return RequestHead(head.method, head.target, fields: fields)
    }

    // MARK: Verdicts

    /// - Returns: whether the upload has its report.
    func take(
        _ verdict: UploadVerdict, _ answer: HTTPAnswer, _ job: HTTPJob, _ upload: PendingUpload
    ) async -> Bool {
        switch verdict {
        case .goOn: return false
        case .complete:
            end(upload, UploadReport(upload, job, answer, run.configuration.conflict))
            return true
        case .skipped:
            report(upload, Failure(.skipped, "A file with this name exists on the server."))
            return true
        case .failed(let fault):
            report(upload, .answered(fault, answer))
            return true
        case .anew(let sentence):
            guard job.content.isRepeatable else {
                report(upload, .answered(Failure(.incomplete, "\(sentence). \(Self.streamIsGone)"), answer))
                return true
            }
            run.channel.send(.notice("\(upload.label): \(sentence); it is sent again from the beginning"))
            return false
        case .wait(let fault, let told):
            let seconds = told?.seconds(now: UTCTime.now.seconds)
            guard job.content.canGoOn(job.machine),
                let interval = job.wait(seconds, most: run.configuration.retries)
            else {
                report(upload, .answered(fault, answer))
                return true
            }
            // Wait even if the connection ends with the answer, because a request over the next connection would be too
            // early as well.
            await pause(interval)
            return false
        }
    }
}

extension HTTPContent {
    /// Whether an upload can continue over another connection, or with another request.
    func canGoOn(_ machine: HTTPJob.Machine) -> Bool {
        // A tus server states its offset, and the bytes that it does not have are kept in memory.
        if case .tus = machine { true } else { isRepeatable }
    }
}

/// Sending uploads by the tus protocol.
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

    /// Keeps the record for a later run while the upload waits or goes on, and removes it at the end.
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

    /// Digests the bytes that an earlier run has sent, so that the whole content can be compared at the end.
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
    /// The value of the field `Upload-Checksum` for a piece.
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
