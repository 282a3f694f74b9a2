import Synchronization
import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel
import TransferPorts

/// Answers monitoring programs. It has no row in the table of routes, because probes need no credentials (`HTTPSteps`).
struct ProbeHandler: HTTPHandler {
    let context: HTTPContext

    /// - Returns: nil for any other request.
    func answer(_ request: HTTPRequest) throws(HTTPRefusal) -> HTTPReply? {
        let service = context.service
        guard let probe = service.probe(request.head) else {
            guard service.purpose == .probes else { return nil }
            throw HTTPRefusal(404, .notFound, "This address has only /metrics, /healthz and /readyz.")
        }
        guard [.get, .head].contains(request.head.method) else {
            throw HTTPRefusal(405, .wrongForm, "This path allows only GET and HEAD.", [("Allow", "GET, HEAD")])
        }
        switch probe {
        case .health: return HTTPReply(200, Self.unstored, Array("ok\n".utf8), type: Self.plain)
        case .readiness: return readiness
        case .metrics: return try metrics(request)
        }
    }

    /// The metrics. They show how much all clients send, so a client that may not see everything gets none.
    private func metrics(_ request: HTTPRequest) throws(HTTPRefusal) -> HTTPReply {
        if context.service.purpose != .probes {
            try context.admit(request.principal.admitted())
            let options = context.caller.grant.options
            guard options.rights.mayRead, options.folder == nil else {
                throw HTTPRefusal(
                    403, .forbidden, "Only clients that may read the whole directory can get the metrics.")
            }
        }
        let offers = ["text/plain", "application/openmetrics-text"]
        let accepted = Negotiation.mediaType(request.head.fields.values("accept"), of: offers)
        let format = accepted == offers[1] ? MetricsWriter.Format.openMetrics : .prometheus
        var page = MetricsPage(context.service.core, format)
        return HTTPReply(200, Self.unstored + [("Vary", "Accept")], page.text(), type: format.contentType)
    }

    private static let unstored = [("Cache-Control", "no-store")]

    private static let plain = "text/plain; charset=utf-8"

    private var readiness: HTTPReply {
        let reasons = context.service.core.unreadiness()
        guard let first = reasons.first else {
            return HTTPReply(200, Self.unstored, Array("ready\n".utf8), type: Self.plain)
        }
        var document = ProblemDetails(503, first.code, "The server accepts no uploads now.")
        document.extensions.append(("reasons", .array(reasons.map { .string($0.rawValue) })))
        return HTTPReply(
            503, Self.unstored + [("Retry-After", "5")], document.bytes, type: ProblemDetails.contentType)
    }
}

extension Result<HTTPRequest.Principal, Refusal> {
    /// - Throws: why the client was not admitted.
    func admitted() throws(HTTPRefusal) -> HTTPRequest.Principal {
        switch self {
        case .success(let principal): return principal
        case .failure(let refusal):
            var refusal = HTTPRefusal(refusal)
            refusal.isLogged = true
            throw refusal
        }
    }
}

/// The requests of monitoring programs.
enum HTTPProbe: String, CaseIterable, Sendable {
    /// Whether the server answers at all.
    case health = "/healthz"
    /// Whether the server accepts uploads now.
    case readiness = "/readyz"
    /// The metrics, for Prometheus and others.
    case metrics = "/metrics"

    init?(_ head: RequestHead) {
        let path = head.resource.utf8.prefix { $0 != UInt8(ascii: "?") }
        guard let probe = Self.allCases.first(where: { $0.rawValue.utf8.elementsEqual(path) }) else { return nil }
        self = probe
    }
}

/// HTTP on its own listener for monitoring programs: only probes are answered there, and no client needs credentials.
struct ProbesFrontEnd: FrontEnd {
    let name = "probes"

    /// Empty: the listener has no TLS.
    var protocols: [String] { [] }

    var openingSize: Int { 0 }

    func recognise(_ opening: [UInt8]) -> Recognition { .yes }

    func connection(for handover: Handover, of core: ServerCore) -> any ServedConnection {
        handover.connection(HTTPSession(handover, core, .probes))
    }
}

/// Why a server accepts no uploads, as far as it knows.
enum Unreadiness: String, CaseIterable, Sendable {
    case stopping
    /// A sync has failed since the machine was started, so nothing that was stored before is trusted.
    case syncFailed
    /// The file system is mounted read-only.
    case readOnly
    /// The disk is full, or has less free room than must remain.
    case noRoom
    /// The quota of the server is used up.
    case quotaExceeded
    /// The database of the cluster does not commit.
    case databaseUnavailable
    /// The bucket of the cluster cannot be read, or belongs to another cluster.
    case bucketUnavailable

    /// The code with which uploads are refused.
    var code: ResultCode {
        switch self {
        case .stopping: .shuttingDown
        case .syncFailed, .readOnly: .storageFailed
        case .noRoom: .insufficientStorage
        case .quotaExceeded: .quotaExceeded
        case .databaseUnavailable, .bucketUnavailable: .busy
        }
    }
}

extension ServerCore {
    /// Whether the server was asked to stop, even if it still accepts connections.
    var isStopping: Bool {
        transport.isLeaving.load(ordering: .relaxed) || intake.isStopping.load(ordering: .relaxed)
    }

    /// The reasons why the server accepts no uploads; empty if it does. Asks the file system or the engines of the cluster, which may
    /// block.
    func unreadiness() -> [Unreadiness] {
        var reasons: [Unreadiness] = []
        if isStopping { reasons.append(.stopping) }
        if intake.store.isInDoubt { reasons.append(.syncFailed) }
        if space.isReadOnly { reasons.append(.readOnly) }
        if let room = space.room, room.free <= transport.settings.space.minimumFree ?? 0 { reasons.append(.noRoom) }
        if let quota = space.quota, quota.used >= quota.limit { reasons.append(.quotaExceeded) }
        if let node { reasons += node.health.reasons { ClusterHealth.ask(node) } }
        return reasons
    }
}
