import TransferHTTP
import TransferIntake
import TransferModel
import TransferPorts

/// Resumable uploads of the IETF (draft-ietf-httpbis-resumable-upload), interop versions 3 to 9. Any upload becomes resumable if its
/// request states whether it is complete.
struct ResumableHandler: HTTPHandler {
    let context: HTTPContext

    private var named: NamedUploads { NamedUploads(context: context) }

    /// Begins a resumable upload, under the same conditions as an upload in one piece.
    func create(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        // Read the head.
        let terms = try FileTerms(request, fileTarget(request, target), context)
        let interop = ResumableInterop(request.head.fields)
        var (isComplete, total) = try request.reading { (fields) throws(HTTPFault) in
            (try UploadComplete.value(fields, interop) ?? false, try UploadNumber.length(fields))
        }
        if case .length(let length) = request.body, isComplete {
            guard total ?? length == length else { return refusal(.inconsistentLength, interop) }
            total = length
        }
        // Begin.
        let append = UploadAppend(at: 0, total: total, ending: isComplete ? .here : .never, isNew: true)
        let receiver = try request.reading { (fields) throws(HTTPFault) in
            try named.checkSize(total)
            var note = UploadNote()
            note.sha256 = try DigestField(fields.values("repr-digest"))?.sha256
            (note.isOnlyNew, note.match) = (terms.isOnlyNew, UploadNote.match(of: fields))
            return try AppendReceiver(
                request, .resumable(interop), terms.intent, append, note, context, if: terms.conditions,
                tellsReplacing: terms.maySee)
        }
        return try receiver.begin()
    }

    /// The path of the upload. A POST to a folder names its file in `Content-Disposition`.
    private func fileTarget(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPTarget {
        guard request.head.method == .post, target.isFolder || target.path.isEmpty else { return target }
        let line = request.head.fields.values("content-disposition").first
        guard let name = line.flatMap({ ContentDisposition($0) })?.filename, !name.isEmpty,
            let text = String(validating: name, as: UTF8.self)
        else {
            throw HTTPRefusal(
                400, .wrongForm,
                "The file needs a name: use the path of a file, or give a name in UTF-8 in Content-Disposition.")
        }
        return target.file(text)
    }

    /// Answers requests for an existing upload, below `/.transfer/up`.
    func answer(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        let address = UploadAddress(target, .up)
        let interop = ResumableInterop(request.head.fields)
        do throws(HTTPRefusal) {
            switch request.head.method {
            case .head: return .reply(try state(of: address, interop))
            case .patch: return try goOn(request, address, interop)
            case .delete:
                try named.takeBack(address.id)
                return .reply(HTTPReply(204, UploadDialect.resumable(interop).identification))
            case .options: return .reply(HTTPReply(204, context.uploadLimit + [("Allow", Self.allowed)]))
            default:
                throw HTTPRefusal(405, .wrongForm, "Uploads do not support this method.", [("Allow", Self.allowed)])
            }
        } catch {
            throw error.identified(.resumable(interop))
        }
    }

    private static let allowed = "OPTIONS, HEAD, PATCH, DELETE"

    /// The offset and length of an upload.
    private func state(of address: UploadAddress, _ interop: ResumableInterop?) throws(HTTPRefusal) -> HTTPReply {
        let dialect = UploadDialect.resumable(interop)
        var fields: [(String, String)]
        switch try named.find(address.id) {
        case .stored(let acknowledgement):
            fields = dialect.fields(offset: acknowledgement.size, isComplete: true)
            fields += [("Upload-Length", "\(acknowledgement.size)")] + named.fields(of: acknowledgement)
        case .unfinished(let unfinished, _):
            fields = dialect.fields(offset: unfinished.offset, isComplete: false)
            if let total = unfinished.total { fields.append(("Upload-Length", "\(total)")) }
        }
        return HTTPReply(204, fields + context.uploadLimit + [("Cache-Control", "no-store")])
    }

    private func goOn(
        _ request: HTTPRequest, _ address: UploadAddress, _ interop: ResumableInterop?
    ) throws(HTTPRefusal) -> HTTPResponse {
        // Read the head.
        let found = try named.find(address.id)
        if case .unfinished(_, let note) = found, note.isPiece {
            throw HTTPRefusal(409, .wrongForm, "This is a piece of a tus upload: continue it with tus.")
        }
        let (offset, isComplete) = try request.reading { (fields) throws(HTTPFault) in
            if interop?.hasContentType ?? true {
                try NamedUploads.checkType(fields, of: "The appended content", is: ResumableInterop.contentType)
            }
            let offset = try NamedUploads.offset(fields)
            guard let isComplete = try UploadComplete.value(fields, interop) else {
                throw HTTPFault(400, "\(UploadComplete.name(interop)) is missing.")
            }
            return (offset, isComplete)
        }
        // Compare it with the upload.
        guard case .unfinished(let unfinished, let note) = found else { return refusal(.completedUpload, interop) }
        guard unfinished.offset == offset else {
            return refusal(
                .mismatchingOffset(expected: unfinished.offset, provided: offset), interop,
                [("Upload-Offset", "\(unfinished.offset)")])
        }
        var total = try request.reading { (fields) throws(HTTPFault) in try UploadNumber.length(fields) }
        total = total ?? unfinished.total
        if case .length(let length) = request.body, isComplete { total = total ?? offset.addingClamped(length) }
        guard fits(request.body, at: offset, total, isComplete), unfinished.total ?? total == total else {
            return refusal(.inconsistentLength, interop)
        }
        // Go on.
        let append = UploadAppend(at: offset, total: total, ending: isComplete ? .here : .never)
        return try named.receiver(request, .resumable(interop), unfinished, append, note).begin()
    }

    /// Whether the request's content can fit the declared lengths.
    private func fits(_ body: BodyFraming, at offset: UInt64, _ total: UInt64?, _ isComplete: Bool) -> Bool {
        guard let total else { return true }
        guard case .length(let length) = body else { return offset <= total }
        let end = offset.addingClamped(length)
        return isComplete ? end == total : end <= total
    }

    private func refusal(
        _ problem: ResumableProblem, _ interop: ResumableInterop?, _ fields: [(String, String)] = []
    ) -> HTTPResponse {
        let details = problem.details
        let fields = fields + UploadDialect.resumable(interop).identification + [("Cache-Control", "no-store")]
        var reply = HTTPReply(details.status, fields, details.bytes, type: ProblemDetails.contentType)
        reply.rejectsContent = true
        return .reply(reply)
    }
}
