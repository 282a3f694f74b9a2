import TransferAccess
import TransferCodec
import TransferHTTP
import TransferIO
import TransferIntake
import TransferModel
import TransferPorts

/// Reads stored files (RFC 9110, sections 9.3.1 and 14) and removes them (section 9.3.5).
struct FileHandler: HTTPHandler {
    let context: HTTPContext

    /// Answers GET and HEAD of files and folders.
    func read(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        let folders = FolderHandler(context: context)
        if let page = folders.offerSending(request, target) { return .reply(page) }
        do throws(Failure) {
            let place = try context.caller.pathForReading(target.path)
            let attributes = try attributes(at: place, isTop: target.path.isEmpty)
            guard attributes?.isDirectory ?? true else { return try readFile(request, target, place) }
            return try folders.list(request, target, place, isThere: attributes != nil)
        } catch {
            throw HTTPRefusal(error)
        }
    }

    /// - Returns: nil for the top folder of a client that has sent nothing yet.
    private func attributes(at place: RelativePath?, isTop: Bool) throws(Failure) -> StoredAttributes? {
        do throws(Failure) {
            return try context.resources.tree.attributes(at: place)
        } catch {
            guard isTop, error.code == .notFound else { throw error }
            return nil
        }
    }

    private func readFile(
        _ request: HTTPRequest, _ target: HTTPTarget, _ place: RelativePath?
    ) throws(Failure) -> HTTPResponse {
        guard let place, !target.isFolder else { throw .noFolder(target) }
        let files = context.files
        let content = try files.openSound(place)
        let attributes = content.attributes
        let known = files.digest(of: attributes, at: place)
        let current = Preconditions.Current(attributes, known)
        let fields = fieldsOfFile(target, current)
        do throws(HTTPFault) {
            switch try Preconditions(request.head.fields, now: .now).outcome(of: current, isRead: true) {
            case .notModified: return .reply(HTTPReply(304, fields))
            case .failed: throw .conditionsFail
            case .proceed: break
            }
            let ranges = try ranges(request, current, size: attributes.size)
            return answer(request, content, of: target) { (digest) in
                HTTPSending(
                    target.path, place, content, ranges, fields: fields + digest, known: known,
                    digester: known.map { files.digester($0.algorithm.function) })
            }
        } catch {
            return .reply(HTTPReply(error, size: attributes.size))
        }
    }

    /// - Parameter sending: makes the answer; its argument is fields with the file's digest.
    private func answer(
        _ request: HTTPRequest, _ content: any ReadableContent, of target: HTTPTarget,
        _ sending: @escaping ([(String, String)]) -> HTTPSending
    ) -> HTTPResponse {
        guard let wanted = DigestPreference(request.head.fields.values("want-repr-digest"))?.algorithms.first else {
            return .long(sending([]))
        }
        let digests = context.service.shared.digests
        guard let known = digests.find(content.attributes.version, wanted) else {
            return .long(HTTPDigesting(target.path, content, wanted, digests, then: sending))
        }
        return .long(sending([("Repr-Digest", known.text)]))
    }

    /// - Returns: nil if the whole file is wanted.
    private func ranges(
        _ request: HTTPRequest, _ current: Preconditions.Current, size: UInt64
    ) throws(HTTPFault) -> [Range<UInt64>]? {
        let fields = request.head.fields
        // Ranges have a meaning for GET only (RFC 9110, section 14.2).
        guard request.head.method == .get, let asked = ByteRanges(fields),
            IfRange(fields, now: .now)?.fits(current, now: .now) ?? true
        else { return nil }
        switch asked.answer(size: size) {
        case .whole: return nil
        case .ranges(let ranges): return ranges
        case .unsatisfiable: throw HTTPFault(416, "The file has \(size) bytes.")
        }
    }

    private func fieldsOfFile(_ target: HTTPTarget, _ current: Preconditions.Current) -> [(String, String)] {
        let name = target.path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(decoding: $0, as: UTF8.self) }
        // `Last-Modified` must not be later than the answer (RFC 9110, section 8.8.2.1), whatever time the file has.
        let now = HTTPDate.now
        return [
            ("ETag", current.tag?.text ?? "\"\""), ("Last-Modified", min(current.modified ?? now, now).text),
            ("Accept-Ranges", "bytes"), ("Cache-Control", "private, no-cache"),
            ("Vary", "Cookie, Authorization"),
            ("Content-Security-Policy", HTTPAnswers.sandbox), HTTPAnswers.framedByPage,
            ("Content-Disposition", ContentDisposition.inline(name ?? "")),
        ]
    }

    /// Answers DELETE of a file, or of a folder with its content.
    func remove(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        let files = context.files
        let place: RelativePath
        let version: FileVersion?
        do throws(Failure) {
            place = try context.caller.pathForRemoving(target.path)
        } catch {
            throw HTTPRefusal(error)
        }
        do throws(HTTPFault) {
            version = try context.conditions(request, on: place).version(files)
        } catch {
            throw HTTPRefusal(conditions: error)
        }
        do throws(Failure) {
            if target.isFolder, let found = files.attributes(at: place), !found.isDirectory { throw .noFolder(target) }
            guard !context.resources.trashes else {
                let changes = ConnectionChanges(context.resources, context.uploads.trash)
                changes.discard(place, isRecursive: target.isFolder, of: version)
                return .long(HTTPDiscard(target.path, changes))
            }
            let removal = try files.beginRemoval(of: place, isRecursive: target.isFolder, version: version)
            return .long(HTTPRemoval(target.path, removal, files))
        } catch {
            throw HTTPRefusal(error)
        }
    }
}

extension Failure {
    /// The path ends with a slash, but is a file.
    fileprivate static func noFolder(_ target: HTTPTarget) -> Failure {
        Failure(.wrongForm, "\(target.path.escapedForDisplay) is a file, not a folder.")
    }
}

extension HTTPReply {
    /// - Parameter size: bytes of the file.
    fileprivate init(_ fault: HTTPFault, size: UInt64) {
        let code: ResultCode =
            fault.status == 416 ? .sizeMismatch : fault.status == 412 ? .pathConflict : .malformedFrame
        let fields = fault.status == 416 ? [("Content-Range", ContentRange.unsatisfied(size: size))] : []
        self.init(
            fault.status, fields, ProblemDetails(fault.status, code, fault.message).bytes,
            type: ProblemDetails.contentType)
    }
}

/// The answer to a removal into the trash, given when that is durable. Used by one task at a time.
final class HTTPDiscard: HTTPAnswer {
    let path: String
    let headComesFirst = false
    private let changes: ConnectionChanges

    /// - Parameter path: as the client knows it.
    init(_ path: String, _ changes: ConnectionChanges) {
        (self.path, self.changes) = (path, changes)
    }

    func head(isLast: Bool) -> [UInt8] { HTTPAnswers.head(204, [], isLast: isLast) }

    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool {
        for result in changes.commit() { _ = try result.get() }
        return true
    }

    func events(peer: String) -> [LogEvent] { [.discarded(path, peer: peer)] }
}

/// The answer to a removal, given when it is durable that everything is gone. Used by one task at a time.
final class HTTPRemoval: HTTPAnswer {
    let path: String
    let headComesFirst = false
    private let removal: any TreeRemoval
    private let files: ConnectionFiles
    private var gone: UInt64 = 0
    private var isGone = false

    /// - Parameter path: as the client knows it.
    init(_ path: String, _ removal: any TreeRemoval, _ files: ConnectionFiles) {
        (self.path, self.removal, self.files) = (path, removal, files)
    }

    func head(isLast: Bool) -> [UInt8] { HTTPAnswers.head(204, [], isLast: isLast) }

    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool {
        if !isGone { isGone = try files.goOn(removal, gone: &gone) }
        // A large folder is removed some names at a time; other clients have their turn in between.
        guard isGone else { return false }
        try files.commitRemovals()
        return true
    }

    func events(peer: String) -> [LogEvent] { [.removed(path, gone, peer: peer)] }
}
