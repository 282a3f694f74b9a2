import TransferHTTP
import TransferIntake
import TransferModel
import TransferStore

/// tus 1.0.0 (https://tus.io/protocols/resumable-upload), with all its extensions.
extension HTTPWorker {
    private static let extensions =
        "creation,creation-with-upload,creation-defer-length,termination,checksum,checksum-trailer,expiration,concatenation"

    private static let contentType = "application/offset+octet-stream"

    func answerTus(_ request: HTTPRequest, _ address: UploadAddress, _ target: HTTPTarget) throws(HTTPRefusal) {
        do throws(HTTPRefusal) {
            let method = try method(request)
            if method == .options { return reply(request, HTTPReply(204, tusOffer)) }
            do throws(HTTPFault) {
                try TusVersion.check(request.head.fields)
            } catch {
                throw HTTPRefusal(
                    error.status, .malformedFrame, error.message, [("Tus-Version", TusVersion.supported)])
            }
            switch method {
            case .post: try create(request, address, target)
            case .head: try tell(request, address)
            case .patch: try goOn(request, address)
            case .delete:
                try takeBack(address.id)
                reply(request, HTTPReply(204, UploadDialect.tus.identification))
            default:
                throw HTTPRefusal(
                    405, .wrongForm, "This is not done to uploads.", [("Allow", "OPTIONS, POST, HEAD, PATCH, DELETE")])
            }
        } catch {
            throw error.identified(.tus)
        }
    }

    /// For clients behind something that lets through little (tus 1.0.0, X-HTTP-Method-Override).
    private func method(_ request: HTTPRequest) throws(HTTPRefusal) -> HTTPMethod {
        do throws(HTTPFault) {
            guard let name = try request.head.fields.only("x-http-method-override") else { return request.head.method }
            guard request.head.method == .post, let method = HTTPMethod(name) else {
                throw HTTPFault(400, "X-HTTP-Method-Override stands in a POST and names a method.")
            }
            return method
        } catch {
            throw HTTPRefusal(error)
        }
    }

    private var tusOffer: [(String, String)] {
        UploadDialect.tus.identification + [
            ("Tus-Version", TusVersion.supported), ("Tus-Extension", Self.extensions),
            ("Tus-Max-Size", "\(largestUpload)"), ("Tus-Checksum-Algorithm", PieceChecksum.offer),
        ]
    }
}

// MARK: Beginning

extension HTTPWorker {
    private func create(_ request: HTTPRequest, _ address: UploadAddress, _ target: HTTPTarget) throws(HTTPRefusal) {
        let policy = try HTTPUpload.policy(target)
        do throws(HTTPFault) {
            let fields = request.head.fields
            let concat = try fields.only("upload-concat").map { (text) throws(HTTPFault) in try UploadConcat(text) }
            if request.body != .none, request.body != .length(0) { try checkType(fields) }
            var note = UploadNote()
            let metadata = try UploadMetadata(try fields.only("upload-metadata") ?? "")
            (note.metadata, note.isPiece) = (metadata.text, concat == .partial)
            let id = client.inner(.random())
            let path = note.isPiece ? "\(id)" : try Self.path(metadata, in: address.folder, else: client.outer(id))
            (note.isOnlyNew, note.match) = try Self.demands(of: fields, isPiece: note.isPiece)
            // What a condition names is to be replaced, unless the client says what else to do.
            let conflict = note.isOnlyNew ? .fail : policy ?? (note.match.isEmpty ? .keepBoth : .overwrite)
            let intent = UploadIntent(id: id, path: path, size: nil, conflict: note.isPiece ? .keepBoth : conflict)
            let conditions = try conditions(of: intent, note)
            guard conditions.hold(files) else { throw .conditionsFail }
            if case .final(let pieces) = concat {
                return try concatenate(request, intent, note, pieces)
            }
            var total: UInt64?
            if case .known(let length) = try UploadDeclaredLength(fields) { total = length }
            try checkSize(total)
            let append = UploadAppend(at: 0, total: total, ending: note.isPiece ? .never : .atTotal, isNew: true)
            begin(try HTTPAppend(request, .tus, intent, append, note, for: client, if: conditions))
        } catch {
            throw HTTPRefusal(error)
        }
    }

    /// What the path has to have when the upload is complete. A piece is stored under no path.
    private static func demands(
        of fields: HTTPFields, isPiece: Bool
    ) throws(HTTPFault) -> (isOnlyNew: Bool, match: [UInt8]) {
        let preconditions = try Preconditions(fields, now: .now)
        return isPiece ? (false, []) : (preconditions.demandsNothing, UploadNote.match(of: fields))
    }

    private func checkSize(_ total: UInt64?) throws(HTTPFault) {
        guard total ?? 0 <= largestUpload else {
            throw HTTPFault(413, "The server takes no more than \(largestUpload) bytes.")
        }
    }

    private func checkType(_ fields: HTTPFields) throws(HTTPFault) {
        let type = try fields.only("content-type").flatMap { MediaType($0.utf8) }
        guard type?.essence == Self.contentType else {
            throw HTTPFault(415, "The content of an upload has the type \(Self.contentType).")
        }
    }

    /// The path that the metadata name, as clients of tus call it; without any a name is made.
    private static func path(
        _ metadata: UploadMetadata, in folder: String, else id: UploadID
    ) throws(HTTPFault) -> String {
        var name = "upload-\(id)"
        for key in ["relativePath", "filename", "name"] {
            // Some say "null" where they have none (Uppy).
            guard let text = try metadata.string(key), !text.hasSameBytes(as: "null") else { continue }
            guard HTTPForm.isAddressable(text.utf8) else {
                throw HTTPFault(400, "A name with a backslash has no address here: say another one.")
            }
            name = text
            break
        }
        return folder.isEmpty ? name : "\(folder)/\(name)"
    }
}

// MARK: Going on

extension HTTPWorker {
    private func complete(_ unfinished: UnfinishedAppend, _ note: UploadNote, _ request: HTTPRequest)
        throws(HTTPRefusal)
    {
        let append = UploadAppend(at: unfinished.offset, total: unfinished.offset, ending: .atTotal)
        let last: HTTPAppend
        do throws(HTTPFault) {
            last = try HTTPAppend(
                request, .tus, unfinished.intent, append, note, for: client, if: conditions(of: unfinished.intent, note)
            )
        } catch {
            throw HTTPRefusal(error)
        }
        try complete(last)
    }

    private func tell(_ request: HTTPRequest, _ address: UploadAddress) throws(HTTPRefusal) {
        var fields = UploadDialect.tus.identification + [("Cache-Control", "no-store")]
        switch try upload(address.id) {
        case .stored(let acknowledgement):
            fields += [("Upload-Offset", "\(acknowledgement.size)"), ("Upload-Length", "\(acknowledgement.size)")]
        case .unfinished(let unfinished, let note) where !note.isPiece && unfinished.offset == unfinished.total:
            // To clients of tus that says that it is stored: the last request was cut off before it was.
            try complete(unfinished, note, request)
            fields += [("Upload-Offset", "\(unfinished.offset)"), ("Upload-Length", "\(unfinished.offset)")]
        case .unfinished(let unfinished, let note):
            fields.append(("Upload-Offset", "\(unfinished.offset)"))
            fields.append(unfinished.total.map { ("Upload-Length", "\($0)") } ?? ("Upload-Defer-Length", "1"))
            if !note.metadata.isEmpty { fields.append(("Upload-Metadata", note.metadata)) }
            if note.isPiece { fields.append(("Upload-Concat", "partial")) }
            fields.append(("Upload-Expires", HTTPDate(clamping: unfinished.expires / 1_000_000_000).text))
        }
        reply(request, HTTPReply(200, fields))
    }

    private func goOn(_ request: HTTPRequest, _ address: UploadAddress) throws(HTTPRefusal) {
        do throws(HTTPFault) {
            let fields = request.head.fields
            try checkType(fields)
            guard let offset = try UploadNumber.offset(fields) else {
                throw HTTPFault(400, "Upload-Offset is missing.")
            }
            let total = try UploadNumber.length(fields)
            let found: NamedUpload
            do throws(HTTPRefusal) { found = try upload(address.id) } catch {
                return refuse(request, error.identified(.tus))
            }
            switch found {
            case .stored(let acknowledgement):
                refuse(request, .otherOffset(acknowledgement.size).identified(.tus))
            case .unfinished(let unfinished, let note):
                guard unfinished.offset == offset else {
                    return refuse(request, .otherOffset(unfinished.offset).identified(.tus))
                }
                guard unfinished.total == nil || total ?? unfinished.total == unfinished.total else {
                    throw HTTPFault(400, "The length of an upload does not change once it is known.")
                }
                try checkSize(total)
                let append = UploadAppend(
                    at: offset, total: total ?? unfinished.total, ending: note.isPiece ? .never : .atTotal)
                begin(
                    try HTTPAppend(
                        request, .tus, unfinished.intent, append, note, for: client,
                        if: conditions(of: unfinished.intent, note)))
            }
        } catch {
            throw HTTPRefusal(error)
        }
    }
}

// MARK: Concatenation

extension HTTPWorker {
    private func concatenate(
        _ request: HTTPRequest, _ intent: UploadIntent, _ note: UploadNote, _ pieces: [String]
    ) throws(HTTPFault) {
        guard request.body == .none || request.body == .length(0) else {
            throw HTTPFault(400, "An upload that is made of others brings no content.")
        }
        do throws(HTTPRefusal) {
            var found: [(id: UploadID, size: UInt64)] = []
            var total: UInt64 = 0
            for piece in pieces {
                guard case .unfinished(let unfinished, let kind) = try upload(UploadAddress.id(in: piece, .tus)),
                    kind.isPiece,
                    unfinished.total == unfinished.offset
                else {
                    throw HTTPRefusal(400, .wrongForm, "Upload-Concat names something that is no complete piece.")
                }
                found.append((unfinished.intent.id, unfinished.offset))
                total = total.addingClamped(unfinished.offset)
            }
            do throws(HTTPFault) {
                try checkSize(total)
                let append = UploadAppend(at: 0, total: total, ending: .atTotal, isNew: true)
                let whole = try HTTPAppend(
                    request, .tus, intent, append, note, for: client, if: conditions(of: intent, note))
                begin(whole, of: found, intent: intent)
            } catch {
                throw HTTPRefusal(error)
            }
        } catch {
            refuse(request, error.identified(.tus))
        }
    }

    private func begin(_ whole: HTTPAppend, of pieces: [(id: UploadID, size: UInt64)], intent: UploadIntent) {
        var bare = whole.intent
        // What comes is what the pieces have, not what the request brings.
        bare.size = nil
        incoming = .append(whole)
        settled(uploads.begin(bare, mayEnd: true))
        guard whole.outcome == nil else { return end(whole, HTTPFields()) }
        begin(HTTPConcatenation(whole, pieces, uploads, files), to: whole.request)
    }
}

extension HTTPRefusal {
    /// To whoever goes on with an upload from somewhere else than where it is.
    static func otherOffset(_ offset: UInt64) -> HTTPRefusal {
        HTTPRefusal(
            409, .wrongForm, "The upload has \(offset) bytes: go on there.", [("Upload-Offset", "\(offset)")])
    }
}
