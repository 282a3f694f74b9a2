import TransferHTTP
import TransferIntake
import TransferModel
import TransferReceipts
import TransferPorts
import TransferSystem

/// Stores files that a form uploads (RFC 7578).
struct FormHandler: HTTPHandler {
    let context: HTTPContext

    func store(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        let receiver = try FormReceiver(request, target, context)
        context.uploads.intake.giveReceipts(receiver.wantsReceipts)
        return .receive(receiver)
    }
}

/// Takes the content of a form; each file in it is a separate upload.
final class FormReceiver: ContentReceiver {
    /// A file of the form, and its outcome.
    private struct File {
        /// File name in the form.
        let name: String
        let id: UploadID
        let began = monotonicNanoseconds()
        var seconds = 0.0
        var outcome: UploadOutcome?
    }

    /// Whether the client wants receipts in the answer.
    let wantsReceipts: Bool

    private let request: HTTPRequest
    private let target: HTTPTarget
    private let context: HTTPContext
    private let conflict: ConflictPolicy
    private let function: DigestFunction
    /// The command that all files of the form belong to: if two have the same name, the second does not replace the first.
    private let command = StoringCommand(id: .random(in: .min ... .max))
    private var reader: MultipartReader
    /// Bytes that the reader has not consumed, because more are needed.
    private var carry: [UInt8] = []
    private var files: [File] = []
    /// Indices in `files`, by the server's IDs.
    private var places: [UploadID: Int] = [:]
    /// Whether the current part is a file.
    private var isInFile = false

    /// - Throws: why the request is refused before its content.
    init(_ request: HTTPRequest, _ target: HTTPTarget, _ context: HTTPContext) throws(HTTPRefusal) {
        guard target.isFolder || target.path.isEmpty else {
            throw HTTPRefusal(
                405, .wrongForm, "Post the form to a folder, with a slash at the end of its path.",
                [("Allow", "GET, HEAD, PUT, DELETE, OPTIONS")])
        }
        do throws(HTTPFault) {
            guard let line = try request.head.fields.only("content-type"), let type = MediaType(line.utf8) else {
                throw HTTPFault(415, "The content is not multipart/form-data.")
            }
            reader = MultipartReader(boundary: try MultipartBoundary(type))
        } catch {
            throw HTTPRefusal(error)
        }
        conflict = try target.conflictPolicy() ?? .keepBoth
        function = try target.digestFunction(request.head.fields)
        (self.request, self.target, self.context) = (request, target, context)
        wantsReceipts = HTTPReceipt.isWanted(request.head.fields)
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> ContentProgress {
        do throws(HTTPFault) {
            try read(bytes, isLast: false)
            return .wantsMore()
        } catch {
            return .answer(conclude(error))
        }
    }

    func finish(_ trailers: HTTPFields) -> HTTPResponse {
        do throws(HTTPFault) {
            try read(UnsafeRawBufferPointer(start: nil, count: 0), isLast: true)
            return .reply(conclude(nil))
        } catch {
            return .reply(conclude(error))
        }
    }

    /// - Parameter fault: why the content is not a form; nil if it is.
    private func conclude(_ fault: HTTPFault?) -> HTTPReply {
        // Files before the fault are complete, and the client has no answer about them yet: they are stored, and the answer says so.
        if fault != nil { settled(context.uploads.abort()) }
        publish()
        context.uploads.intake.giveReceipts(false)
        return answer(fault)
    }

    /// Complete files are published in each turn: if they waited for the end of the form, they would stay open for as long as the client
    /// likes.
    func endTurn() { publish() }

    /// Stores the complete files, and keeps their results for the answer.
    private func publish() {
        settled(context.uploads.publish())
        for batch in context.uploads.acknowledge() { settled(batch.settled) }
    }

    private func settled(_ uploads: [EndedUpload]) { uploads.forEach(settled) }

    /// - Parameter upload: nil if no file was settled.
    private func settled(_ upload: EndedUpload?) {
        if let upload { settled(upload) }
    }

    func settled(_ settled: EndedUpload) {
        guard let place = places[settled.upload.intent.id] else { return }
        files[place].outcome = settled.outcome
        files[place].seconds = Double(monotonicNanoseconds() - files[place].began) / 1e9
    }

    /// Takes the next bytes of the form.
    ///
    /// - Throws: why the content is not a form.
    private func read(_ bytes: UnsafeRawBufferPointer, isLast: Bool) throws(HTTPFault) {
        guard !carry.isEmpty else {
            let taken = try work(through: bytes, isLast: isLast)
            return carry = Array(bytes[taken...])
        }
        let all = carry + bytes
        let taken = try all.span.bytes.withUnsafeBytes { (all) throws(HTTPFault) in
            try work(through: all, isLast: isLast)
        }
        carry = Array(all[taken...])
    }

    /// - Returns: number of consumed bytes.
    private func work(through bytes: UnsafeRawBufferPointer, isLast: Bool) throws(HTTPFault) -> Int {
        let uploads = context.uploads
        var taken = 0
        while true {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[taken...])
            let progress = try reader.next(rest.bytes, isLast: isLast)
            taken += progress.consumed
            switch progress.step {
            case .needsMore, .end: return taken
            case .part(let part): begin(part)
            case .content(let range):
                guard isInFile else { continue }
                let content = UnsafeRawBufferPointer(rebasing: rest[range])
                settled(uploads.write { (open) throws(Failure) in try open.write(content) })
            case .endOfPart:
                if isInFile {
                    settled(uploads.write { (open) throws(Failure) in open.command = command })
                    settled(uploads.finish(DeclaredEnd()))
                }
                isInFile = false
            }
        }
    }

    /// Whether a file of this name can be addressed over HTTP (`RequestPath`).
    static func isAddressable(_ name: some Sequence<UInt8>) -> Bool { !name.contains(UInt8(ascii: "\\")) }

    /// Begins a file. A part without a file name is a field of the form, which this server ignores. Browsers send an empty file name if no
    /// file was chosen.
    private func begin(_ part: MultipartPart) {
        guard let name = part.filename, !name.isEmpty else { return }
        isInFile = true
        let id = context.caller.inner(.random())
        // A name that is not UTF-8, or leads out of the folder, is replaced by an invalid path, which the intake refuses.
        let text =
            Self.isAddressable(name) ? String(validating: name, as: UTF8.self) ?? RelativePath.undecodable : "\u{0}"
        let path = target.path.isEmpty ? text : "\(target.path)/\(text)"
        places[id] = files.count
        // A longer name cannot be stored, and all names are kept until the answer.
        files.append(File(name: String(decoding: name.prefix(Limits.pathComponent), as: UTF8.self), id: id))
        let intent = UploadIntent(
            id: id, path: path, size: nil, kind: .file, function: function, conflict: conflict, modified: part.modified)
        settled(context.uploads.begin(intent, mayEnd: false))
        context.uploads.noteBeginning()
    }
}

// MARK: The answer

extension FormReceiver {
    /// One object for each file, in their order.
    ///
    /// - Parameter fault: why the content is not a form; nil if it is.
    private func answer(_ fault: HTTPFault?) -> HTTPReply {
        let codes = files.map { $0.outcome?.code ?? .aborted }
        let isStored = codes.allSatisfy(\.isSuccess)
        if let fault {
            var reply = problem(fault, objects)
            reply.rejectsContent = true
            return reply
        }
        guard !files.isEmpty else { return problem(HTTPFault(400, "There is no file in the form."), .array([])) }
        let accepted = Negotiation.mediaType(
            request.head.fields.values("accept"), of: ["application/json", "text/html"])
        if isStored, accepted == "text/html" {
            // A redirect: the browser shows the folder, and sends no file again when the page is reloaded (RFC 9110, section 15.4.4).
            return HTTPReply(303, [("Location", location), ("Cache-Control", "no-store")])
        }
        let first = codes.first { !$0.isSuccess }
        let status = isStored ? 201 : codes.contains(where: \.isSuccess) ? 207 : first?.httpStatus ?? 500
        return HTTPReply(status, fields, Array((objects.text + "\n").utf8), type: "application/json")
    }

    private var fields: [(String, String)] {
        [("Cache-Control", "no-store")] + (wantsReceipts ? [HTTPReceipt.applied] : [])
    }

    private var location: String {
        target.path.isEmpty ? "/" : "/" + PercentEncoding.path(target.path.utf8) + "/"
    }

    private func problem(_ fault: HTTPFault, _ files: JSONValue) -> HTTPReply {
        var document = ProblemDetails(fault.status, .malformedFrame, fault.message)
        document.extensions.append(("files", files))
        return HTTPReply(fault.status, fields, document.bytes, type: ProblemDetails.contentType)
    }

    private var objects: JSONValue {
        .array(
            files.map { file in
                var object = document(file).json
                if wantsReceipts {
                    let isStored = file.outcome?.code.isSuccess == true
                    object.append(
                        "receipt", HTTPReceipt.member(isStored ? context.uploads.intake.receipt(of: file.id) : nil))
                }
                return .object(object)
            })
    }

    private func document(_ file: File) -> UploadDocument {
        let caller = context.caller
        let outcome = file.outcome ?? .refused(Failure(.aborted, "The form ended before the file did."), size: 0)
        var stored: Acknowledgement?
        if case .acknowledged(let acknowledgement) = outcome { stored = acknowledgement }
        return UploadDocument(
            source: file.name, id: caller.outer(file.id), result: outcome.code,
            storedPath: stored.flatMap { caller.clientPath($0.path)?.string }, kind: .file, size: outcome.size,
            digest: outcome.digest, isVerified: false, isDurable: outcome.isDurable,
            isReplacing: stored?.replaced == .other, seconds: file.seconds, message: caller.redacted(outcome.message))
    }
}
