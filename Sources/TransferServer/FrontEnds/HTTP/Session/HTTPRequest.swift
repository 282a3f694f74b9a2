import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel
import TransferPorts

/// A request, and who asks. It is a class because it is handed from the session to the worker and its handlers without a copy.
final class HTTPRequest: Sendable {
    /// Who sent a request, as its credentials say.
    struct Principal: Sendable {
        let caller: Caller

        /// Who pays for what the request costs.
        let holder: AccountHolder

        /// The id of the session that the browser has shown; nil for a client without one.
        var session: String?
    }

    let head: RequestHead
    let body: BodyFraming
    let way: HTTPWay
    /// Who sent it, or why its credentials were refused.
    let principal: Result<Principal, Refusal>

    /// What came of the sign-in link that the request is about; nil for any other request. Its client is not signed in yet.
    let signIn: SignInOutcome?

    init(
        head: RequestHead, body: BodyFraming, way: HTTPWay, principal: Result<Principal, Refusal>,
        signIn: SignInOutcome? = nil
    ) {
        (self.head, self.body, self.way, self.principal, self.signIn) = (head, body, way, principal, signIn)
    }

    /// Bytes of content in a file up to which it is waited for: a record of TLS. Each byte that comes alone costs a copy of those
    /// before it.
    static let mostGathered: UInt64 = 16 << 10

    /// How long the content is, where the request is to be looked at together with all of it: a small file that comes in two
    /// pieces costs one change of threads, and not two. Whoever wants an answer before the content has one.
    var gatheredLength: Int? {
        guard case .length(let length) = body, length <= Self.mostGathered, case .success = principal,
            head.method == .put, !head.expectsContinue, !head.asksForResumption
        else { return nil }
        return Int(length)
    }

    /// Whether the connection may be used for another one.
    var isPersistent: Bool { head.isPersistent }

    /// Reads what its fields say.
    ///
    /// - Throws: the fault that `body` finds, as the reason why the request is refused.
    func reading<Value>(_ body: (HTTPFields) throws(HTTPFault) -> Value) throws(HTTPRefusal) -> Value {
        do throws(HTTPFault) {
            return try body(head.fields)
        } catch {
            throw HTTPRefusal(error)
        }
    }
}

extension RequestHead {
    /// Whether it wants an upload that can be gone on with, in the place of one in one piece.
    var asksForResumption: Bool {
        [.put, .post, .patch].contains(method) && (fields.has("upload-complete") || fields.has("upload-incomplete"))
    }
}

/// What a request is about.
struct HTTPTarget {
    /// As the client knows it, without a slash in front or behind; empty for its top.
    let path: String

    /// Whether it is written as a folder.
    let isFolder: Bool

    let query: RequestQuery

    /// - Throws: 400 for what cannot be a path.
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

    /// The client's top.
    static let top = HTTPTarget("", isFolder: true, RequestQuery())

    /// A file in this folder.
    func file(_ name: String) -> HTTPTarget {
        HTTPTarget(path.isEmpty ? name : "\(path)/\(name)", isFolder: false, query)
    }
}

/// What a request that changes something makes itself depend on.
struct HTTPConditions {
    private let conditions: Preconditions
    private let place: RelativePath?

    /// - Parameter place: of what they are about; nothing for a client that may not see it, which learns nothing by them.
    init(_ conditions: Preconditions, on place: RelativePath?) {
        (self.conditions, self.place) = (conditions, place)
    }

    /// Those of the request that created an upload, for the request that completes it.
    ///
    /// - Parameter place: as above.
    init(_ note: UploadNote, on place: RelativePath?) throws(HTTPFault) {
        var fields = HTTPFields()
        if !note.match.isEmpty { fields.append(HTTPField(name: "If-Match", value: note.match)) }
        if note.isOnlyNew { fields.append(HTTPField(name: "If-None-Match", value: Array("*".utf8))) }
        self.init(try Preconditions(fields, now: .now), on: place)
    }

    /// Whether what is there now is what the request demands.
    func hold(_ files: ConnectionFiles) -> Bool {
        conditions.isEmpty || conditions.outcome(of: present(files), isRead: false) == .proceed
    }

    /// Compares them before an upload is published, which spares the sync, and lets the store compare them again when it gets its path.
    /// Uploads that replace nothing, whatever is there, are compared here alone.
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

    /// - Returns: the version of the file that they hold for; nothing for a folder, or where nothing is demanded.
    /// - Throws: 412 where they do not hold.
    func version(_ files: ConnectionFiles) throws(HTTPFault) -> FileVersion? {
        guard !conditions.isEmpty else { return nil }
        // Read before they are looked at: what is stored since has another one.
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
