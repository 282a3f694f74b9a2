import TransferHTTP
import TransferIntake
import TransferModel
import TransferStore

/// Files that come with requests: each is an upload of the connection, and nothing else stores or acknowledges it.
extension HTTPWorker {
    func store(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) {
        if target.isFolder, !target.path.isEmpty { return try makeFolder(request, target) }
        let upload = try HTTPUpload(request, target, as: newID(), for: client, files)
        incoming = .upload(upload)
        settled(uploads.begin(upload.intent, mayEnd: request.head.expectsContinue))
        uploads.noteBeginning()
        guard upload.outcome == nil else { return conclude(upload) }
        sayContinue(to: request)
    }

    func take(_ bytes: UnsafeRawBufferPointer) {
        switch incoming {
        case .ignored: break
        case .upload(let upload): take(bytes, upload)
        case .form(let form): take(bytes, form, isLast: false)
        case .append(let append): take(bytes, append)
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer, _ upload: HTTPUpload) {
        settled(
            uploads.take { (open) throws(Failure) in
                upload.hash(bytes)
                try open.append(bytes)
            })
        if upload.outcome != nil { conclude(upload) }
    }

    /// All of the content has come: it is published before anything else is looked at, because the answer to this request is
    /// the next one that the client gets.
    func end(_ trailers: HTTPFields) {
        hasAllContent = true
        switch incoming {
        case .ignored: break
        case .upload(let upload): end(upload, trailers)
        case .form(let form): take(UnsafeRawBufferPointer(start: nil, count: 0), form, isLast: true)
        case .append(let append): end(append, trailers)
        }
    }

    private func end(_ upload: HTTPUpload, _ trailers: HTTPFields) {
        settled(
            uploads.take { (open) throws(Failure) in
                try upload.check(trailers)
                try upload.conditions.demand(of: open, files)
            })
        if upload.outcome == nil {
            uploads.intake.giveReceipts(upload.wantsReceipt)
            settled(uploads.end(DeclaredEnd()))
            settled(uploads.publish())
            settled(uploads.acknowledge().settled)
            uploads.intake.giveReceipts(false)
        }
        conclude(upload)
    }

    /// Answers an upload that has its result.
    private func conclude(_ upload: HTTPUpload) {
        incoming = .ignored
        let request = upload.request
        guard let result = upload.outcome else {
            return refuse(
                request, HTTPRefusal(500, .storageFailed, "The server lost track of the upload: send it again."))
        }
        guard case .acknowledged(let acknowledgement) = result else {
            let refusal = upload.refusal(result, client)
            return say(request, isLast: endsWithRefusal(request)) { isLast in
                HTTPAnswers.problem(
                    refusal.status, refusal.code, refusal.message, refusal.fields, for: request.head.method,
                    isLast: isLast)
            }
        }
        let receipt = upload.wantsReceipt ? uploads.intake.receipt(of: acknowledgement.id) : nil
        reply(request, upload.reply(acknowledgement, client, receipt))
    }
}

// MARK: Forms

extension HTTPWorker {
    func storeForm(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) {
        let form = try HTTPForm(request, target, for: client)
        incoming = .form(form)
        uploads.intake.giveReceipts(form.wantsReceipts)
        sayContinue(to: request)
    }

    /// Stores the files of a form that are there, and keeps their results for its answer.
    func settleForm() {
        settled(uploads.publish())
        settled(uploads.acknowledge().settled)
    }

    /// - Parameter isLast: whether that was all of the form.
    private func take(_ bytes: UnsafeRawBufferPointer, _ form: HTTPForm, isLast: Bool) {
        do throws(HTTPFault) {
            try form.take(bytes, isLast: isLast, into: uploads)
        } catch {
            // Files before the fault are whole, and nobody has heard of them: they are stored, and the answer says so.
            settled(uploads.abort())
            form.fault = error
        }
        guard isLast || form.fault != nil else { return }
        settleForm()
        uploads.intake.giveReceipts(false)
        incoming = .ignored
        let hasFailed = form.fault != nil
        say(form.request, isLast: hasFailed && endsWithRefusal(form.request)) { isLast in
            form.answer(client, isLast: isLast) { uploads.intake.receipt(of: $0) }
        }
    }
}
