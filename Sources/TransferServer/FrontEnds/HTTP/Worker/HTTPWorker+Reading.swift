import TransferAccess
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

/// Folders, as clients see them.
extension HTTPWorker {
    func list(
        _ request: HTTPRequest, _ target: HTTPTarget, _ place: RelativePath?, isThere: Bool
    ) throws(Failure) {
        // Links of a page lead from the folder only where its path ends with a slash.
        guard target.isFolder || target.path.isEmpty else {
            let query = request.head.resource.utf8.drop { $0 != UInt8(ascii: "?") }
            let location = "/" + PercentEncoding.path(target.path.utf8) + "/" + String(Substring(query))
            return reply(request, HTTPReply(301, [("Location", location), ("Cache-Control", "no-cache")]))
        }
        let listing = isThere ? try resources.store.list(place) : nil
        resources.intake.known.settleIfNeeded()
        let answer = HTTPListing(
            target.path, listing, form(request, target),
            fields: [
                ("Cache-Control", "private, no-cache"),
                ("Vary", "Accept, Accept-Language, Cookie, Authorization"),
                ("Content-Security-Policy", HTTPAnswers.noActiveContent),
            ],
            isChunked: request.head.version != .http10, resources.intake.known)
        guard request.head.method == .get else { return sayHead(request, of: answer) }
        begin(answer, to: request)
    }

    private func form(_ request: HTTPRequest, _ target: HTTPTarget) -> HTTPListing.Form {
        if target.query.contains("json") { return .json }
        let fields = request.head.fields
        let offers = ["text/html", "application/json", "application/x-ndjson"]
        switch Negotiation.mediaType(fields.values("accept"), of: offers) {
        case "application/json"?: return .json
        case "application/x-ndjson"?: return .lines
        default:
            let words: ListingPage.Words =
                switch Negotiation.language(fields.values("accept-language")) {
                case .english: .english
                case .chinese: .chinese
                }
            return .page(
                ListingPage(
                    words: words, maySend: client.grant.options.rights.mayWrite,
                    session: request.session == nil ? nil : client.grant.name))
        }
    }
}

/// Folders that are made.
extension HTTPWorker {
    /// A folder is there, durably, when this is answered with success.
    func makeFolder(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) {
        guard request.body == .none || request.body == .length(0) else {
            throw HTTPRefusal(
                400, .wrongForm, "A folder has no content: put a file to a path without a slash behind it.")
        }
        // Who may not read learns nothing by the answer.
        let seen = (try? client.pathForReading(target.path)) ?? nil
        try checkConditions(request, on: seen)
        let present = seen.flatMap { files.attributes(at: $0) }
        do throws(Failure) {
            let place = try client.pathForMaking(target.path)
            guard present?.isDirectory ?? true else {
                throw Failure(.pathConflict, "\(target.path.escapedForDisplay) is a file.")
            }
            try resources.store.makeFolder(place)
        } catch {
            throw HTTPRefusal(error)
        }
        let location = "/" + PercentEncoding.path(target.path.utf8) + "/"
        reply(
            request, HTTPReply(present == nil ? 201 : 200, [("Location", location), ("Cache-Control", "no-store")]))
    }

    private func checkConditions(_ request: HTTPRequest, on place: RelativePath?) throws(HTTPRefusal) {
        do throws(HTTPFault) {
            let conditions = HTTPConditions(try Preconditions(request.head.fields, now: .now), on: place)
            guard conditions.hold(files) else { throw .conditionsFail }
        } catch {
            throw HTTPRefusal(error.status, error.status == 412 ? .pathConflict : .malformedFrame, error.message)
        }
    }
}
