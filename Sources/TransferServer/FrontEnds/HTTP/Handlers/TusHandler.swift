import TransferHTTP
import TransferIO
import TransferIntake
import TransferModel
import TransferPorts

/// Resumable uploads of tus 1.0.0 (https://tus.io/protocols/resumable-upload), with the extensions in `extensions`, below `/.transfer/tus`.
struct TusHandler: HTTPHandler {
    let context: HTTPContext

    private var named: NamedUploads { NamedUploads(context: context) }

    private static let extensions =
        "creation,creation-with-upload,creation-defer-length,termination,checksum,checksum-trailer,expiration,concatenation"

    func answer(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        let address = UploadAddress(target, .tus)
        do throws(HTTPRefusal) {
            let method = try method(request)
            if method == .options { return .reply(offer) }
            do throws(HTTPFault) {
                try TusVersion.check(request.head.fields)
            } catch {
                throw HTTPRefusal(
                    error.status, .malformedFrame, error.message, [("Tus-Version", TusVersion.supported)])
            }
            switch method {
            case .post: return try create(request, address, target)
            case .head: return .reply(try state(of: address, request))
            case .patch: return try goOn(request, address)
            case .delete:
                try named.takeBack(address.id)
                return .reply(HTTPReply(204, UploadDialect.tus.identification))
            default:
                throw HTTPRefusal(
                    405, .wrongForm, "Uploads do not support this method.",
                    [("Allow", "OPTIONS, POST, HEAD, PATCH, DELETE")])
            }
        } catch {
            throw error.identified(.tus)
        }
    }

    /// The method of the request, which clients may state in a field, because some proxies let only few methods through (tus 1.0.0,
    /// X-HTTP-Method-Override).
    private func method(_ request: HTTPRequest) throws(HTTPRefusal) -> HTTPMethod {
        try request.reading { (fields) throws(HTTPFault) in
            guard let name = try fields.only("x-http-method-override") else { return request.head.method }
            guard request.head.method == .post, let method = HTTPMethod(name) else {
                throw HTTPFault(400, "X-HTTP-Method-Override must be in a POST and name a method.")
            }
            return method
        }
    }

    private var offer: HTTPReply {
        let fields = [
            ("Tus-Version", TusVersion.supported), ("Tus-Extension", Self.extensions),
            ("Tus-Max-Size", "\(context.largestUpload)"), ("Tus-Checksum-Algorithm", PieceChecksum.offer),
        ]
        return HTTPReply(204, UploadDialect.tus.identification + fields)
    }

    private func checkType(_ fields: HTTPFields) throws(HTTPFault) {
        try NamedUploads.checkType(fields, of: "The content of an upload", is: "application/offset+octet-stream")
    }
}

// MARK: Beginning

extension TusHandler {
    private func create(
        _ request: HTTPRequest, _ address: UploadAddress, _ target: HTTPTarget
    ) throws(HTTPRefusal) -> HTTPResponse {
        let (policy, function) = (try target.conflictPolicy(), try target.digestFunction(request.head.fields))
        // Read the head.
        let (concat, intent, note) = try request.reading { (fields) throws(HTTPFault) in
            let concat = try fields.only("upload-concat").map { (text) throws(HTTPFault) in try UploadConcat(text) }
            if request.body != .none, request.body != .length(0) { try checkType(fields) }
            var (intent, note) = try upload(fields, isPiece: concat == .partial, in: address.folder, policy)
            intent.function = function
            guard try named.conditions(of: intent, note).hold(context.files) else { throw .conditionsFail }
            return (concat, intent, note)
        }
        if case .final(let pieces) = concat { return try concatenate(request, intent, note, pieces) }
        // Begin.
        let receiver = try request.reading { (fields) throws(HTTPFault) in
            var total: UInt64?
            if case .known(let length) = try UploadDeclaredLength(fields) { total = length }
            try named.checkSize(total)
            let append = UploadAppend(at: 0, total: total, ending: note.isPiece ? .never : .atTotal, isNew: true)
            return try AppendReceiver(
                request, .tus, intent, append, note, context, if: named.conditions(of: intent, note))
        }
        return try receiver.begin()
    }

    /// - Returns: the declarations for the intake, and the note that is stored with the upload.
    private func upload(
        _ fields: HTTPFields, isPiece: Bool, in folder: String, _ policy: ConflictPolicy?
    ) throws(HTTPFault) -> (UploadIntent, UploadNote) {
        var note = UploadNote()
        let metadata = try UploadMetadata(try fields.only("upload-metadata") ?? "")
        (note.metadata, note.isPiece) = (metadata.text, isPiece)
        let id = context.caller.inner(.random())
        let path = isPiece ? "\(id)" : try Self.path(metadata, in: folder, else: context.caller.outer(id))
        let preconditions = try Preconditions(fields, now: .now)
        // A piece is not stored under a path, so it has no conditions.
        guard !isPiece else { return (UploadIntent(id: id, path: path, size: nil, conflict: .keepBoth), note) }
        (note.isOnlyNew, note.match) = (preconditions.demandsNothing, UploadNote.match(of: fields))
        // A condition names the file that is to be replaced, unless the client states a policy.
        let conflict = note.isOnlyNew ? .fail : policy ?? (note.match.isEmpty ? .keepBoth : .overwrite)
        // Clients may use the key in another sense, so other values are not refused.
        let modified = metadata["mtime"].flatMap { ModificationTime.parse($0) }
        return (UploadIntent(id: id, path: path, size: nil, conflict: conflict, modified: modified), note)
    }

    /// The path from the metadata, under the keys that tus clients use; without one, a name is made of the ID.
    private static func path(
        _ metadata: UploadMetadata, in folder: String, else id: UploadID
    ) throws(HTTPFault) -> String {
        var name = "upload-\(id)"
        for key in ["relativePath", "filename", "name"] {
            // Some clients send "null" for a missing value (Uppy).
            guard let text = try metadata.string(key), !text.hasSameBytes(as: "null") else { continue }
            guard FormReceiver.isAddressable(text.utf8) else {
                throw HTTPFault(400, "A name with a backslash cannot be addressed over HTTP: choose another name.")
            }
            name = text
            break
        }
        return folder.isEmpty ? name : "\(folder)/\(name)"
    }
}

// MARK: Continuing

extension TusHandler {
    /// The offset and length of an upload.
    private func state(of address: UploadAddress, _ request: HTTPRequest) throws(HTTPRefusal) -> HTTPReply {
        var fields = UploadDialect.tus.identification + [("Cache-Control", "no-store")]
        switch try named.find(address.id) {
        case .stored(let acknowledgement):
            fields += sizes(acknowledgement)
        case .unfinished(let unfinished, let note) where !note.isPiece && unfinished.offset == unfinished.total:
            // To a tus client, this answer means that the upload is stored. The last request was cut off before it was, so it is stored
            // now.
            let append = UploadAppend(at: unfinished.offset, total: unfinished.offset, ending: .atTotal)
            fields += sizes(try named.receiver(request, .tus, unfinished, append, note).complete())
        case .unfinished(let unfinished, let note):
            fields.append(("Upload-Offset", "\(unfinished.offset)"))
            fields.append(unfinished.total.map { ("Upload-Length", "\($0)") } ?? ("Upload-Defer-Length", "1"))
            if !note.metadata.isEmpty { fields.append(("Upload-Metadata", note.metadata)) }
            if note.isPiece { fields.append(("Upload-Concat", "partial")) }
            fields.append(("Upload-Expires", HTTPDate(clamping: unfinished.expires / 1_000_000_000).text))
        }
        return HTTPReply(200, fields)
    }

    private func sizes(_ stored: Acknowledgement) -> [(String, String)] {
        [("Upload-Offset", "\(stored.size)"), ("Upload-Length", "\(stored.size)")] + named.fields(of: stored)
    }

    private func goOn(_ request: HTTPRequest, _ address: UploadAddress) throws(HTTPRefusal) -> HTTPResponse {
        // Read the head.
        let (offset, total) = try request.reading { (fields) throws(HTTPFault) in
            try checkType(fields)
            return (try NamedUploads.offset(fields), try UploadNumber.length(fields))
        }
        // Compare it with the upload.
        let (unfinished, note): (UnfinishedAppend, UploadNote)
        switch try named.find(address.id) {
        case .stored(let acknowledgement): throw .otherOffset(acknowledgement.size)
        case .unfinished(let found, let noted): (unfinished, note) = (found, noted)
        }
        guard unfinished.offset == offset else { throw .otherOffset(unfinished.offset) }
        try request.reading { (_) throws(HTTPFault) in
            guard unfinished.total == nil || total ?? unfinished.total == unfinished.total else {
                throw HTTPFault(400, "The length of an upload must not change once it is known.")
            }
            try named.checkSize(total)
        }
        // Go on.
        let append = UploadAppend(
            at: offset, total: total ?? unfinished.total, ending: note.isPiece ? .never : .atTotal)
        return try named.receiver(request, .tus, unfinished, append, note).begin()
    }
}

// MARK: Concatenation

extension TusHandler {
    /// Joins complete pieces into one upload (tus 1.0.0, concatenation).
    private func concatenate(
        _ request: HTTPRequest, _ intent: UploadIntent, _ note: UploadNote, _ pieces: [String]
    ) throws(HTTPRefusal) -> HTTPResponse {
        guard request.body == .none || request.body == .length(0) else {
            throw HTTPRefusal(HTTPFault(400, "A request that concatenates uploads must not have content."))
        }
        // Find the pieces.
        var found: [HTTPConcatenation.Piece] = []
        var total: UInt64 = 0
        for piece in pieces {
            guard case .unfinished(let unfinished, let kind) = try named.find(UploadAddress.id(in: piece, .tus)),
                kind.isPiece,
                unfinished.total == unfinished.offset
            else {
                throw HTTPRefusal(400, .wrongForm, "Upload-Concat names an upload that is not a complete piece.")
            }
            found.append(HTTPConcatenation.Piece(id: unfinished.intent.id, size: unfinished.offset))
            total = total.addingClamped(unfinished.offset)
        }
        // Begin.
        let whole = try request.reading { (_) throws(HTTPFault) in
            try named.checkSize(total)
            let append = UploadAppend(at: 0, total: total, ending: .atTotal, isNew: true)
            return try AppendReceiver(
                request, .tus, intent, append, note, context, if: named.conditions(of: intent, note),
                bringsContent: false)
        }
        guard whole.upload.begin(mayEnd: true) else { return .reply(try whole.answer()) }
        return .long(HTTPConcatenation(whole, found, context))
    }
}

/// The answer to a concatenation: copies the pieces one after the other, some bytes in each turn, and answers when the whole is stored.
/// Used by one task at a time.
final class HTTPConcatenation: HTTPAnswer {
    struct Piece {
        let id: UploadID
        let size: UInt64
    }

    let headComesFirst = false
    /// True: if the client loses its access, the intake refuses the upload, and the client still gets an answer that says so.
    let watchesAccess = true
    private let whole: AppendReceiver
    private let context: HTTPContext
    private let caller: Caller
    private var pieces: ArraySlice<Piece>
    /// Bytes of the first remaining piece that are copied.
    private var taken: UInt64 = 0

    /// Bytes that are copied in one turn.
    private static let step: UInt64 = 16 << 20

    var path: String { whole.upload.intent.path }

    init(_ whole: AppendReceiver, _ pieces: [Piece], _ context: HTTPContext) {
        (self.whole, self.pieces, self.context) = (whole, pieces[...], context)
        caller = context.caller
    }

    func head(isLast: Bool) -> [UInt8] {
        do throws(HTTPRefusal) {
            return try whole.answer().bytes(for: .post, isLast: isLast)
        } catch {
            return HTTPReply(error, for: caller).bytes(for: .post, isLast: isLast)
        }
    }

    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool {
        let upload = whole.upload
        if upload.outcome == nil, let piece = pieces.first {
            try take(from: piece)
            return upload.outcome != nil
        }
        upload.write { (open) throws(Failure) in try whole.checkConditions(open) }
        upload.finish()
        return true
    }

    private func take(from piece: Piece) throws(Failure) {
        let upload = whole.upload
        let end = min(piece.size, taken.addingClamped(Self.step))
        if taken < end {
            let isThere = try context.uploads.intake.read(append: piece.id, taken..<end) { (bytes) in
                upload.write { (open) throws(Failure) in try open.write(bytes) }
            }
            guard isThere else {
                upload.abort()
                throw Failure(.notFound, "A piece of the upload no longer exists.")
            }
        }
        taken = end
        guard taken == piece.size else { return }
        pieces = pieces.dropFirst()
        taken = 0
    }

    func settled(_ settled: EndedUpload) { whole.settled(settled) }

    func events(peer: String) -> [LogEvent] { [] }
}

extension HTTPRefusal {
    /// Refuses a request that continues an upload at another offset than its end.
    static func otherOffset(_ offset: UInt64) -> HTTPRefusal {
        HTTPRefusal(
            409, .wrongForm, "The upload has \(offset) bytes: continue at that offset.",
            [("Upload-Offset", "\(offset)")])
    }
}
