import TransferCodec
import TransferHTTP
import TransferIntake
import TransferModel
import TransferStore

/// What is stored, as clients read and remove it.
extension HTTPWorker {
    func read(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) {
        do throws(Failure) {
            let place = try client.pathForReading(target.path)
            let attributes = try attributes(at: place, isTop: target.path.isEmpty)
            guard attributes?.isDirectory ?? true else { return try readFile(request, target, place) }
            try list(request, target, place, isThere: attributes != nil)
        } catch {
            throw HTTPRefusal(error)
        }
    }

    /// - Returns: nothing for the folder of a client that has sent nothing yet.
    private func attributes(at place: RelativePath?, isTop: Bool) throws(Failure) -> StoredAttributes? {
        do throws(Failure) {
            return try resources.store.attributes(at: place)
        } catch {
            guard isTop, error.code == .notFound else { throw error }
            return nil
        }
    }

    private func readFile(_ request: HTTPRequest, _ target: HTTPTarget, _ place: RelativePath?) throws(Failure) {
        guard let place, !target.isFolder else {
            throw Failure(.wrongForm, "\(target.path.escapedForDisplay) is a file, and no folder.")
        }
        let content = try files.openSound(place)
        let attributes = content.attributes
        let known = files.digest(of: attributes, at: place)
        let current = Preconditions.Current(attributes, known)
        let fields = fieldsOfFile(target, current)
        do throws(HTTPFault) {
            switch try Preconditions(request.head.fields, now: .now).outcome(of: current, isRead: true) {
            case .notModified: return reply(request, HTTPReply(304, fields))
            case .failed: throw .conditionsFail
            case .proceed: break
            }
            let ranges = try ranges(request, current, size: attributes.size)
            let sending = { [files] (digest: [(String, String)]) in
                HTTPSending(
                    target.path, place, content, ranges, fields: fields + digest, known: known,
                    digester: known.map { files.digester($0.algorithm.function) })
            }
            answer(request, content, of: target, sending)
        } catch {
            reply(request, HTTPReply(error, size: attributes.size))
        }
    }

    /// - Parameter sending: makes the answer, with fields that say which digest the file has.
    private func answer(
        _ request: HTTPRequest, _ content: StoredContent, of target: HTTPTarget,
        _ sending: @escaping ([(String, String)]) -> HTTPSending
    ) {
        let wanted = DigestPreference(request.head.fields.values("want-repr-digest"))?.algorithms.first
        if let wanted, service.shared.digests.find(content.attributes.version, wanted) == nil {
            let digesting = HTTPDigesting(target.path, content, wanted, service.shared.digests, then: sending)
            return begin(digesting, to: request)
        }
        let known = wanted.flatMap { service.shared.digests.find(content.attributes.version, $0) }
        let sending = sending(known.map { [("Repr-Digest", $0.text)] } ?? [])
        guard request.head.method == .get else { return sayHead(request, of: sending) }
        begin(sending, to: request)
    }

    /// - Returns: nothing where all of it is wanted.
    private func ranges(
        _ request: HTTPRequest, _ current: Preconditions.Current, size: UInt64
    ) throws(HTTPFault) -> [Range<UInt64>]? {
        let fields = request.head.fields
        // They mean something for GET alone (RFC 9110, section 14.2).
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
        // Never later than the answer (RFC 9110, section 8.8.2.1), whatever the clock of whoever stored it said.
        let now = HTTPDate.now
        return [
            ("ETag", current.tag?.text ?? "\"\""), ("Last-Modified", min(current.modified ?? now, now).text),
            ("Accept-Ranges", "bytes"), ("Cache-Control", "private, no-cache"),
            ("Vary", "Cookie, Authorization"),
            ("Content-Security-Policy", HTTPAnswers.sandbox),
            ("Content-Disposition", ContentDisposition.inline(name ?? "")),
        ]
    }

    func remove(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) {
        let place: RelativePath
        let version: FileVersion?
        do throws(Failure) {
            place = try client.pathForRemoving(target.path)
        } catch {
            throw HTTPRefusal(error)
        }
        do throws(HTTPFault) {
            let conditions = HTTPConditions(try Preconditions(request.head.fields, now: .now), on: place)
            version = try conditions.version(files)
        } catch {
            throw HTTPRefusal(error.status, error.status == 412 ? .pathConflict : .malformedFrame, error.message)
        }
        do throws(Failure) {
            if target.isFolder, let found = files.attributes(at: place), !found.isDirectory {
                throw Failure(.wrongForm, "\(target.path.escapedForDisplay) is a file, and no folder.")
            }
            guard !resources.trashes else {
                let changes = ConnectionChanges(resources, uploads.trash)
                changes.discard(place, isRecursive: target.isFolder, of: version)
                return begin(HTTPDiscard(target.path, changes), to: request)
            }
            let removal = try files.beginRemoval(of: place, isRecursive: target.isFolder, version: version)
            begin(HTTPRemoval(target.path, removal, files), to: request)
        } catch {
            throw HTTPRefusal(error)
        }
    }
}

extension HTTPReply {
    /// - Parameter size: bytes of what was asked about.
    fileprivate init(_ fault: HTTPFault, size: UInt64) {
        let code: ResultCode =
            fault.status == 416 ? .sizeMismatch : fault.status == 412 ? .pathConflict : .malformedFrame
        let fields = fault.status == 416 ? [("Content-Range", ContentRange.unsatisfied(size: size))] : []
        self.init(
            fault.status, fields, ProblemDetails(fault.status, code, fault.message).bytes,
            type: ProblemDetails.contentType)
    }
}
