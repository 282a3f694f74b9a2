import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel
import TransferPorts
import TransferSystem

/// Answers requests about one topic. A route makes one for each request (`HTTPRouter`); its methods return what the answer is.
protocol HTTPHandler: SendableMetatype {
    init(context: HTTPContext)
}

/// What handlers work with: the client that asks, and what its connection and the server have. Belongs to one task at a time.
final class HTTPContext {
    let uploads: ConnectionUploads
    let files: ConnectionFiles
    let resources: WorkerResources
    let service: HTTPService

    /// The client that asks; without any rights until it is admitted.
    private(set) var caller = Caller(peer: "")

    private var random = SecureRandom()

    init(_ uploads: ConnectionUploads, _ resources: WorkerResources, _ service: HTTPService) {
        (self.uploads, self.resources, self.service) = (uploads, resources, service)
        files = ConnectionFiles(resources)
    }

    /// Asks what the client may do now.
    ///
    /// - Throws: why it may do nothing.
    func admit(_ principal: HTTPRequest.Principal) throws(HTTPRefusal) {
        uploads.intake.caller = principal.caller
        uploads.intake.accountHolder = principal.holder
        if let refusal = uploads.recheck().refusal { throw HTTPRefusal(refusal) }
        self.caller = uploads.intake.caller
    }

    /// An id for an upload, as its sender knows it.
    func newID() -> UploadID { .random(using: &random) }

    /// Bytes of the largest upload that the client may send.
    var largestUpload: UInt64 { caller.maximumUpload(of: resources.intake.maximumUpload) }

    /// `Upload-Limit`.
    var uploadLimit: [(String, String)] {
        let age = max(0, resources.intake.keepUnfinished / 1_000_000_000)
        return [("Upload-Limit", UploadLimit(maxSize: largestUpload, maxAge: UInt64(age)).text)]
    }

    /// The path that conditions of a request are about; nil for a client that may not read it, which learns nothing by them.
    func visiblePath(_ path: String) -> RelativePath? { (try? caller.pathForReading(path)) ?? nil }

    /// What a request makes itself depend on.
    ///
    /// - Parameter place: what it changes.
    /// - Throws: 400 for conditions that cannot be read.
    func conditions(_ request: HTTPRequest, on place: RelativePath?) throws(HTTPFault) -> HTTPConditions {
        HTTPConditions(try Preconditions(request.head.fields, now: .now), on: place)
    }
}

/// What is asked of the server itself, and not of what is stored in it.
struct HTTPService: Sendable {
    let core: ServerCore

    /// Whether nothing else is answered on the connection.
    let isForProbes: Bool

    var shared: HTTPShared { core.http }

    init(_ core: ServerCore, isForProbes: Bool) {
        (self.core, self.isForProbes) = (core, isForProbes)
    }

    /// - Returns: nil for a request that is about something else.
    func probe(_ head: RequestHead) -> HTTPProbe? {
        guard let probe = HTTPProbe(head) else { return nil }
        // Where they are told elsewhere or not at all, a file may be called so.
        return probe == .metrics && !isForProbes && core.configuration.metrics != .on ? nil : probe
    }

    /// Whether any client gets the answer, without showing who it is.
    func isForAnybody(_ head: RequestHead) -> Bool {
        isForProbes || probe(head).map { $0 != .metrics } ?? false
    }
}

/// What all connections of a server share on which HTTP is spoken.
final class HTTPShared: Sendable {
    /// What requests are answered.
    let router: HTTPRouter
    let digests = ReprDigests()
    let news = UploadNews()
    let running: RunningUploads

    init(_ connections: ConnectionList, _ router: HTTPRouter) {
        (self.router, running) = (router, RunningUploads(connections))
    }
}
