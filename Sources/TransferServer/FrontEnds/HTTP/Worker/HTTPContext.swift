import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

/// Answers requests about one topic. A route makes one for each request (`HTTPRouter`); its methods return the answer.
protocol HTTPHandler: SendableMetatype {
    init(context: HTTPContext)
}

/// What handlers use: the client that asks, its connection, and the server. Used by one task at a time.
final class HTTPContext {
    let uploads: ConnectionUploads
    let files: ConnectionFiles
    let resources: WorkerResources
    let service: HTTPService

    /// The client that asks; it has no rights until it is admitted.
    private(set) var caller = Caller(peer: "")

    private var random = SecureRandom()

    init(_ uploads: ConnectionUploads, _ resources: WorkerResources, _ service: HTTPService) {
        (self.uploads, self.resources, self.service) = (uploads, resources, service)
        files = ConnectionFiles(resources)
    }

    /// Checks what the client may do now.
    ///
    /// - Throws: the reason if it may do nothing.
    func admit(_ principal: HTTPRequest.Principal) throws(HTTPRefusal) {
        uploads.intake.caller = principal.caller
        uploads.intake.accountHolder = principal.holder
        if let refusal = uploads.recheck().refusal { throw HTTPRefusal(refusal) }
        self.caller = uploads.intake.caller
    }

    /// Forgets the client of an earlier request: the next one may be of another, through a proxy.
    func forgetCaller() { caller = Caller(peer: "") }

    /// Whether the client has the rights and the folder with which it was admitted.
    var hasSameAccess: Bool {
        let (before, now) = (caller.grant.options, uploads.intake.caller.grant.options)
        return before.rights == now.rights && before.folder == now.folder
    }

    /// A new upload ID, as the client knows it.
    func newID() -> UploadID { .random(using: &random) }

    /// Bytes of the largest upload that the client may send.
    var largestUpload: UInt64 { caller.maximumUpload(of: resources.intake.maximumUpload) }

    /// The field `Upload-Limit` with its value.
    var uploadLimit: [(String, String)] {
        let age = max(0, resources.intake.keepUnfinished / 1_000_000_000)
        return [("Upload-Limit", UploadLimit(maxSize: largestUpload, maxAge: UInt64(age)).text)]
    }

    /// The path that conditions of a request are about; nil if the client may not read it, so that it learns nothing from them.
    func visiblePath(_ path: String) -> RelativePath? { (try? caller.pathForReading(path)) ?? nil }

    /// The preconditions of a request.
    ///
    /// - Parameter place: the path that the request changes.
    /// - Throws: 400 if the conditions cannot be parsed.
    func conditions(_ request: HTTPRequest, on place: RelativePath?) throws(HTTPFault) -> HTTPConditions {
        HTTPConditions(try Preconditions(request.head.fields, now: .now), on: place)
    }
}

/// What the connections of a listener are for.
enum HTTPPurpose: Sendable {
    /// Stored files, and everything else.
    case files
    /// The same for proxies, without encryption.
    case filesBehindProxy
    /// Probes of monitoring programs, on a listener that asks for no credentials.
    case probes
    /// Clients that do not encrypt where the server demands it: they are sent to `https`.
    case redirection
}

/// Requests about the server itself rather than about stored files.
struct HTTPService: Sendable {
    let core: ServerCore

    let purpose: HTTPPurpose

    var shared: HTTPShared { core.http }

    init(_ core: ServerCore, _ purpose: HTTPPurpose) {
        (self.core, self.purpose) = (core, purpose)
    }

    /// - Returns: nil for a request that is not a probe.
    func probe(_ head: RequestHead) -> HTTPProbe? {
        guard let probe = HTTPProbe(head) else { return nil }
        // If metrics are shown elsewhere or not at all, a file can have this path.
        return probe == .metrics && purpose != .probes && core.configuration.metrics != .on ? nil : probe
    }

    /// Whether the request is answered without credentials.
    func isForAnybody(_ head: RequestHead) -> Bool {
        switch purpose {
        case .probes, .redirection: true
        case .files, .filesBehindProxy: probe(head).map { $0 != .metrics } ?? AssetHandler.isAsset(head)
        }
    }
}

/// What all HTTP connections of a server share.
final class HTTPShared: Sendable {
    /// Finds the handler of each request.
    let router: HTTPRouter
    let digests = ReprDigests()
    let news = UploadNews()
    let running: RunningUploads

    init(_ connections: ConnectionList, _ router: HTTPRouter) {
        (self.router, running) = (router, RunningUploads(connections))
    }
}
