import Synchronization
import TransferHTTP
import TransferIntake
import TransferModel
import TransferStore

/// Uploads that can be gone on with, whatever their clients speak: each request is an upload of the connection.
extension HTTPWorker {
    /// Lets the content of a request come.
    func begin(_ append: HTTPAppend) {
        incoming = .append(append)
        settled(uploads.begin(append.intent, mayEnd: true))
        uploads.noteBeginning()
        guard append.outcome == nil else { return conclude(append) }
        announce(append)
        sayContinue(to: append.request)
    }

    /// Tells where the upload is as soon as it is there, so that a client whose connection is lost can go on.
    private func announce(_ append: HTTPAppend) {
        guard append.isNew, let interop = append.dialect.interop, append.request.head.version == .http11,
            case .receiving(let open) = uploads.current
        else { return }
        open.announce()
        tell([("Location", append.address), ("Upload-Draft-Interop-Version", interop.text)] + uploadLimit)
    }

    /// An answer before the final one (104; RFC 9110, section 15.2).
    private func tell(_ fields: [(String, String)]) {
        var head = HTTPFields()
        for (name, value) in fields { head.append(name, value) }
        if let bytes = HeadWriter.bytes(ResponseHead(104, fields: head)) { outcome.append(bytes) }
    }

    func take(_ bytes: UnsafeRawBufferPointer, _ append: HTTPAppend) {
        settled(
            uploads.take { (open) throws(Failure) in
                append.take(bytes)
                try open.append(bytes)
                guard open.kept > append.told else { return }
                append.told = open.kept
                guard let interop = append.dialect.interop, append.request.head.version == .http11 else { return }
                tell([("Upload-Offset", "\(open.kept)"), ("Upload-Draft-Interop-Version", interop.text)])
            })
        if append.outcome != nil { conclude(append) }
    }

    func end(_ append: HTTPAppend, _ trailers: HTTPFields) {
        settle(append, trailers)
        conclude(append)
    }

    private func settle(_ append: HTTPAppend, _ trailers: HTTPFields) {
        settled(
            uploads.take { (open) throws(Failure) in
                try append.check(trailers, open)
                try append.checkConditions(files, open)
            })
        guard append.outcome == nil else { return }
        settled(uploads.end(DeclaredEnd()))
        guard append.outcome == nil else { return }
        settled(uploads.publish())
        settled(uploads.acknowledge().settled)
    }

    /// Ends an upload of which all is there, and whose last request did not live to do that.
    ///
    /// - Parameter append: brings nothing more.
    /// - Throws: why it is not stored.
    func complete(_ append: HTTPAppend) throws(HTTPRefusal) {
        incoming = .append(append)
        defer { incoming = .ignored }
        settled(uploads.begin(append.intent, mayEnd: true))
        if append.outcome == nil { settle(append, HTTPFields()) }
        switch append.outcome {
        case .acknowledged: return
        case let outcome?: throw append.refusal(outcome, client)
        case nil: throw HTTPRefusal(500, .storageFailed, "The server lost track of the upload: ask again.")
        }
    }

    private func conclude(_ append: HTTPAppend) {
        incoming = .ignored
        let request = append.request
        switch append.outcome {
        case .acknowledged(let acknowledgement):
            let receipt = append.wantsReceipt ? uploads.intake.receipt(of: acknowledgement.id) : nil
            reply(request, append.reply(acknowledgement, client, receipt))
        case .kept(let offset):
            var kept = append.reply(kept: offset, expires: expiry(from: now))
            if !append.dialect.isTus { kept.fields += uploadLimit }
            reply(request, kept)
        case .some(let outcome):
            let refusal = append.refusal(outcome, client)
            say(request, isLast: endsWithRefusal(request)) { isLast in
                HTTPAnswers.problem(
                    refusal.status, refusal.code, refusal.message, refusal.fields, for: request.head.method,
                    isLast: isLast)
            }
        case nil:
            refuse(request, HTTPRefusal(500, .storageFailed, "The server lost track of the upload: send it again."))
        }
    }

    /// Seconds since 1970.
    private var now: Int64 { HTTPDate.now.seconds }

    /// - Parameter moment: seconds since 1970, when something was added last.
    private func expiry(from moment: Int64) -> Int64 {
        let (end, overflow) = moment.addingReportingOverflow(uploads.intake.intake.keepUnfinished / 1_000_000_000)
        return overflow ? .max : end
    }

    /// Bytes of the largest upload that the client may send.
    var largestUpload: UInt64 { client.maximumUpload(of: uploads.intake.intake.maximumUpload) }

    /// `Upload-Limit`.
    var uploadLimit: [(String, String)] {
        let age = max(0, uploads.intake.intake.keepUnfinished / 1_000_000_000)
        return [("Upload-Limit", UploadLimit(maxSize: largestUpload, maxAge: UInt64(age)).text)]
    }
}

// MARK: One upload

extension HTTPWorker {
    /// An upload that a client names by its address.
    enum NamedUpload {
        case unfinished(UnfinishedAppend, UploadNote)
        case stored(Acknowledgement)
    }

    /// - Parameter id: as the client knows it; nothing for what is no address.
    /// - Throws: 404 where there is none.
    func upload(_ id: UploadID?) throws(HTTPRefusal) -> NamedUpload {
        guard let id = id.map(client.inner) else { throw .noSuchUpload }
        do throws(Failure) {
            if let unfinished = try uploads.intake.unfinishedAppend(id) {
                return .unfinished(unfinished, UploadNote(unfinished.note))
            }
        } catch {
            throw HTTPRefusal(error)
        }
        guard let acknowledgement = uploads.intake.lookup([id], .xxh128)[0] else { throw .noSuchUpload }
        return .stored(acknowledgement)
    }

    func takeBack(_ id: UploadID?) throws(HTTPRefusal) {
        guard let id = id.map(client.inner) else { throw .noSuchUpload }
        do throws(Failure) {
            guard try uploads.intake.takeBack(append: id) else { throw Failure(.notFound, "") }
        } catch {
            throw error.code == .notFound ? .noSuchUpload : HTTPRefusal(error)
        }
    }
}

extension HTTPRefusal {
    static let noSuchUpload = HTTPRefusal(
        404, .notFound, "There is no such upload: it was taken back, has expired, or was never made.",
        [("Cache-Control", "no-store")])

    /// With what the answers of a dialect say.
    func identified(_ dialect: UploadDialect) -> HTTPRefusal {
        var refusal = self
        refusal.fields += dialect.identification
        return refusal
    }
}
