import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel
import TransferPorts

/// A request and the client that sent it. It is a class so that the session can hand it to the worker and its handlers without a copy.
final class HTTPRequest: Sendable {
    /// The client of a request, according to its credentials.
    struct Principal: Sendable {
        let caller: Caller

        /// The account that is charged for the request.
        let holder: AccountHolder

        /// ID of the session that the browser has shown; nil without one.
        var session: String?
    }

    let head: RequestHead
    let body: BodyFraming
    let way: HTTPWay
    /// The client, or why its credentials were refused.
    let principal: Result<Principal, Refusal>

    /// The outcome of the sign-in link that the request is for; nil for any other request. The client of a request with such a link is not
    /// signed in yet.
    let signIn: SignInOutcome?

    init(
        head: RequestHead, body: BodyFraming, way: HTTPWay, principal: Result<Principal, Refusal>,
        signIn: SignInOutcome? = nil
    ) {
        (self.head, self.body, self.way, self.principal, self.signIn) = (head, body, way, principal, signIn)
    }

    /// Most bytes of content that a request waits for: one TLS record. Each piece that arrives alone costs a copy of those before it.
    static let mostGathered: UInt64 = 16 << 10

    /// Length of the content if the request waits for all of it: a small file that arrives in two pieces then costs one change of threads
    /// instead of two. Nil if the content does not qualify, or if the client wants an answer before it.
    var gatheredLength: Int? {
        guard case .length(let length) = body, length <= Self.mostGathered, case .success = principal,
            head.method == .put, !head.expectsContinue, !head.asksForResumption
        else { return nil }
        return Int(length)
    }

    /// Whether the connection stays open for another request.
    var isPersistent: Bool { head.isPersistent }

    /// Reads the fields of the request.
    ///
    /// - Throws: the fault that `body` throws, as a refusal.
    func reading<Value>(_ body: (HTTPFields) throws(HTTPFault) -> Value) throws(HTTPRefusal) -> Value {
        do throws(HTTPFault) {
            return try body(head.fields)
        } catch {
            throw HTTPRefusal(error)
        }
    }
}

extension RequestHead {
    /// Whether the request begins or continues a resumable upload, rather than an upload in one piece.
    var asksForResumption: Bool {
        [.put, .post, .patch].contains(method) && (fields.has("upload-complete") || fields.has("upload-incomplete"))
    }
}

/// The path and the query of a request.
struct HTTPTarget {
    /// The path as the client knows it, without a slash at either end; empty for the client's top folder.
    let path: String

    /// Whether the path ends with a slash, as a folder's does.
    let isFolder: Bool

    let query: RequestQuery

    /// - Throws: 400 if the resource is not a valid path.
    init(_ head: RequestHead) throws(HTTPRefusal) {
        do throws(HTTPFault) {
            let path = try RequestPath(head.resource.utf8)
            (self.path, isFolder, query) = (path.path, path.endsInSlash, path.query)
        } catch {
            throw HTTPRefusal(error.status, .invalidPath, error.message)
        }
    }

    private init(_ path: String, isFolder: Bool, _ query: RequestQuery) {
        (self.path, self.isFolder, self.query) = (path, isFolder, query)
    }

    /// The top folder of the client.
    static let top = HTTPTarget("", isFolder: true, RequestQuery())

    /// The target of a file in this folder.
    func file(_ name: String) -> HTTPTarget {
        HTTPTarget(path.isEmpty ? name : "\(path)/\(name)", isFolder: false, query)
    }
}

/// The preconditions of a request that changes something (RFC 9110, section 13).
struct HTTPConditions {
    private let conditions: Preconditions
    private let place: RelativePath?

    /// - Parameter place: the path that the conditions are about; nil if the client may not read it, so that it learns nothing from them.
    init(_ conditions: Preconditions, on place: RelativePath?) {
        (self.conditions, self.place) = (conditions, place)
    }

    /// The condition that the path has the version with this tag.
    init(_ tag: EntityTag, on place: RelativePath) throws(HTTPFault) {
        var fields = HTTPFields()
        fields.append(HTTPField(name: "If-Match", value: tag.bytes))
        self.init(try Preconditions(fields, now: .now), on: place)
    }

    /// Makes the conditions of the request that created an upload, for the request that completes it.
    ///
    /// - Parameter place: the path that the conditions are about; nil if the client may not read it.
    init(_ note: UploadNote, on place: RelativePath?) throws(HTTPFault) {
        var fields = HTTPFields()
        if !note.match.isEmpty { fields.append(HTTPField(name: "If-Match", value: note.match)) }
        if note.isOnlyNew { fields.append(HTTPField(name: "If-None-Match", value: Array("*".utf8))) }
        self.init(try Preconditions(fields, now: .now), on: place)
    }

    /// Whether the conditions hold for what the path has now.
    func hold(_ files: ConnectionFiles) -> Bool {
        conditions.isEmpty || conditions.outcome(of: present(files), isRead: false) == .proceed
    }

    /// Checks the conditions before an upload is published, to save the sync, and lets the store check them again when it publishes.
    /// Uploads that never replace a file are checked here only.
    ///
    /// - Throws: `conditionFails`.
    func demand(of upload: OpenUpload, _ files: ConnectionFiles) throws(Failure) {
        guard hold(files) else { throw .conditionFails }
        switch upload.intent.conflict {
        case .overwrite, .fail: upload.condition = forPublication(files)
        case .keepBoth, .skip: break
        }
    }

    private func forPublication(_ files: ConnectionFiles) -> PublicationCondition? {
        guard !conditions.isEmpty else { return nil }
        guard let place else { return conditions.demandsNothing ? .onlyNew : nil }
        let (conditions, details) = (conditions, files.details(at: place))
        return PublicationCondition { attributes in
            let current = attributes.map { Preconditions.Current($0, $0.isDirectory ? nil : details($0)) }
            return conditions.outcome(of: current, isRead: false) == .proceed
        }
    }

    /// - Returns: the version of the file for which the conditions hold; nil for a folder, or without conditions.
    /// - Throws: 412 if they do not hold.
    func version(_ files: ConnectionFiles) throws(HTTPFault) -> FileVersion? {
        guard !conditions.isEmpty else { return nil }
        // Read before the conditions are checked: a file that is stored later has another version.
        let version = place.flatMap { files.attributes(at: $0) }?.fileVersion
        guard hold(files) else { throw .conditionsFail }
        return version == FileVersion.none ? nil : version
    }

    private func present(_ files: ConnectionFiles) -> Preconditions.Current? {
        guard let place, let attributes = files.attributes(at: place) else { return nil }
        return Preconditions.Current(
            attributes, attributes.isDirectory ? nil : files.digest(of: attributes, at: place))
    }
}
