import TransferHTTP
import TransferIntake
import TransferModel
import TransferStore

/// Resumable uploads of the IETF (draft-ietf-httpbis-resumable-upload), interop versions 3 to 9. Any upload becomes one when its
/// request says whether it is complete.
extension HTTPWorker {
    /// Begins one in the place of an upload in one piece, with the same terms.
    func createResumable(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) {
        let target = try named(request, target)
        let upload = try HTTPUpload(request, target, as: newID(), for: client, files)
        do throws(HTTPFault) {
            let fields = request.head.fields
            let interop = ResumableInterop(fields)
            let isComplete = try UploadComplete.value(fields, interop) ?? false
            var total = try UploadNumber.length(fields)
            if case .length(let length) = request.body, isComplete {
                guard total ?? length == length else {
                    return refuse(request, problem: .inconsistentLength, interop)
                }
                total = length
            }
            guard total ?? 0 <= largestUpload else {
                throw HTTPFault(413, "The server takes no more than \(largestUpload) bytes.")
            }
            var note = UploadNote()
            note.sha256 = try DigestField(fields.values("repr-digest"))?.sha256
            (note.isOnlyNew, note.match) = (upload.isOnlyNew, UploadNote.match(of: fields))
            let append = UploadAppend(at: 0, total: total, ending: isComplete ? .here : .never, isNew: true)
            begin(
                try HTTPAppend(
                    request, .resumable(interop), upload.intent, append, note, for: client, if: upload.conditions,
                    tellsReplacing: upload.maySee))
        } catch {
            throw HTTPRefusal(error)
        }
    }

    /// What an upload was made to depend on by the request that created it.
    func conditions(of intent: UploadIntent, _ note: UploadNote) throws(HTTPFault) -> HTTPConditions {
        try HTTPConditions(note, on: try? client.pathForReading(intent.path))
    }

    /// A post to a folder names its file in `Content-Disposition`.
    private func named(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPTarget {
        guard request.head.method == .post, target.isFolder || target.path.isEmpty else { return target }
        let line = request.head.fields.values("content-disposition").first
        guard let name = line.flatMap({ ContentDisposition($0) })?.filename, !name.isEmpty,
            let text = String(validating: name, as: UTF8.self)
        else {
            throw HTTPRefusal(
                400, .wrongForm, "The file needs a name: put it to a path, or say it in Content-Disposition.")
        }
        return target.file(text)
    }

    func answerResumable(_ request: HTTPRequest, _ address: UploadAddress) throws(HTTPRefusal) {
        let interop = ResumableInterop(request.head.fields)
        do throws(HTTPRefusal) {
            switch request.head.method {
            case .head: try tellResumable(request, address, interop)
            case .patch: try goOnResumable(request, address, interop)
            case .delete:
                try takeBack(address.id)
                reply(request, HTTPReply(204, UploadDialect.resumable(interop).identification))
            case .options: reply(request, HTTPReply(204, uploadLimit + [("Allow", Self.allowedOfUpload)]))
            default:
                throw HTTPRefusal(405, .wrongForm, "This is not done to uploads.", [("Allow", Self.allowedOfUpload)])
            }
        } catch {
            throw error.identified(.resumable(interop))
        }
    }

    private static let allowedOfUpload = "OPTIONS, HEAD, PATCH, DELETE"

    private func tellResumable(
        _ request: HTTPRequest, _ address: UploadAddress, _ interop: ResumableInterop?
    ) throws(HTTPRefusal) {
        let dialect = UploadDialect.resumable(interop)
        let common = uploadLimit + [("Cache-Control", "no-store")]
        switch try upload(address.id) {
        case .stored(let acknowledgement):
            let fields = dialect.fields(offset: acknowledgement.size, isComplete: true)
            reply(request, HTTPReply(204, fields + [("Upload-Length", "\(acknowledgement.size)")] + common))
        case .unfinished(let unfinished, _):
            let length = unfinished.total.map { [("Upload-Length", "\($0)")] } ?? []
            reply(
                request, HTTPReply(204, dialect.fields(offset: unfinished.offset, isComplete: false) + length + common))
        }
    }

    private func goOnResumable(
        _ request: HTTPRequest, _ address: UploadAddress, _ interop: ResumableInterop?
    ) throws(HTTPRefusal) {
        let found = try upload(address.id)
        if case .unfinished(_, let note) = found, note.isPiece {
            throw HTTPRefusal(409, .wrongForm, "This is a piece of an upload of tus: only tus goes on with it.")
        }
        do throws(HTTPFault) {
            let fields = request.head.fields
            if interop?.hasContentType ?? true {
                let type = try fields.only("content-type").flatMap { MediaType($0.utf8) }
                guard type?.essence == ResumableInterop.contentType else {
                    throw HTTPFault(415, "What is appended has the type \(ResumableInterop.contentType).")
                }
            }
            guard let offset = try UploadNumber.offset(fields) else {
                throw HTTPFault(400, "Upload-Offset is missing.")
            }
            guard let isComplete = try UploadComplete.value(fields, interop) else {
                throw HTTPFault(400, "\(UploadComplete.name(interop)) is missing.")
            }
            guard case .unfinished(let unfinished, let note) = found else {
                return refuse(request, problem: .completedUpload, interop)
            }
            guard unfinished.offset == offset else {
                return refuse(
                    request, problem: .mismatchingOffset(expected: unfinished.offset, provided: offset), interop,
                    [("Upload-Offset", "\(unfinished.offset)")])
            }
            var total = try UploadNumber.length(fields) ?? unfinished.total
            if case .length(let length) = request.body, isComplete { total = total ?? offset.addingClamped(length) }
            guard fits(request.body, at: offset, total, isComplete), unfinished.total ?? total == total else {
                return refuse(request, problem: .inconsistentLength, interop)
            }
            let append = UploadAppend(at: offset, total: total, ending: isComplete ? .here : .never)
            begin(
                try HTTPAppend(
                    request, .resumable(interop), unfinished.intent, append, note, for: client,
                    if: conditions(of: unfinished.intent, note)))
        } catch {
            throw HTTPRefusal(error)
        }
    }

    /// Whether what a request brings can be what it says.
    private func fits(_ body: BodyFraming, at offset: UInt64, _ total: UInt64?, _ isComplete: Bool) -> Bool {
        guard let total else { return true }
        guard case .length(let length) = body else { return offset <= total }
        let end = offset.addingClamped(length)
        return isComplete ? end == total : end <= total
    }

    private func refuse(
        _ request: HTTPRequest, problem: ResumableProblem, _ interop: ResumableInterop?,
        _ fields: [(String, String)] = []
    ) {
        let details = problem.details
        let fields = fields + UploadDialect.resumable(interop).identification + [("Cache-Control", "no-store")]
        say(request, isLast: endsWithRefusal(request)) { isLast in
            HTTPAnswers.whole(
                details.status, fields, details.bytes, type: ProblemDetails.contentType, for: request.head.method,
                isLast: isLast)
        }
    }
}
