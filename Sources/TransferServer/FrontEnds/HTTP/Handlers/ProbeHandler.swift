import Synchronization
import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel
import TransferPorts

/// Answers programs that watch over the server. It has no row in the table of routes: these need not be let in (`HTTPSteps`).
struct ProbeHandler: HTTPHandler {
    let context: HTTPContext

    /// - Returns: nil for any other request.
    func answer(_ request: HTTPRequest) throws(HTTPRefusal) -> HTTPReply? {
        let service = context.service
        guard let probe = service.probe(request.head) else {
            guard service.isForProbes else { return nil }
            throw HTTPRefusal(404, .notFound, "There is nothing here but /metrics, /healthz and /readyz.")
        }
        guard [.get, .head].contains(request.head.method) else {
            throw HTTPRefusal(405, .wrongForm, "This is only asked.", [("Allow", "GET, HEAD")])
        }
        switch probe {
        case .health: return HTTPReply(200, Self.unstored, Array("ok\n".utf8), type: Self.plain)
        case .readiness: return readiness
        case .metrics: return try metrics(request)
        }
    }

    /// Its numbers say how much others send: a client that may not see all of that may not see them.
    private func metrics(_ request: HTTPRequest) throws(HTTPRefusal) -> HTTPReply {
        if !context.service.isForProbes {
            try context.admit(request.principal.admitted())
            let options = context.caller.grant.options
            guard options.rights.mayRead, options.folder == nil else {
                throw HTTPRefusal(403, .forbidden, "This is for clients that may see everything.")
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
        var document = ProblemDetails(503, first.code, "The server takes no uploads now.")
        document.extensions.append(("reasons", .array(reasons.map { .string($0.rawValue) })))
        return HTTPReply(
            503, Self.unstored + [("Retry-After", "5")], document.bytes, type: ProblemDetails.contentType)
    }
}

extension Result<HTTPRequest.Principal, Refusal> {
    /// - Throws: why the client was not let in.
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

/// What programs ask that watch over a server.
enum HTTPProbe: String, CaseIterable, Sendable {
    /// Whether it is there.
    case health = "/healthz"
    /// Whether it takes uploads.
    case readiness = "/readyz"
    /// Its numbers.
    case metrics = "/metrics"

    init?(_ head: RequestHead) {
        let path = head.resource.utf8.prefix { $0 != UInt8(ascii: "?") }
        guard let probe = Self.allCases.first(where: { $0.rawValue.utf8.elementsEqual(path) }) else { return nil }
        self = probe
    }
}

/// HTTP on a listener of its own, for programs that watch over the server: nothing else is answered there, and no client has to
/// show who it is.
struct ProbesFrontEnd: FrontEnd {
    let name = "probes"

    /// There is no TLS.
    var protocols: [String] { [] }

    var openingSize: Int { 0 }

    func recognise(_ opening: [UInt8]) -> Recognition { .yes }

    func connection(for handover: Handover, of core: ServerCore) -> any ServedConnection {
        handover.connection(HTTPSession(handover, core, isPlain: false, isForProbes: true))
    }
}

/// Why a server takes no uploads, as far as it knows.
enum Unreadiness: String, CaseIterable, Sendable {
    case stopping
    /// A sync has failed since the machine was started, and nothing that was there before is trusted.
    case inDoubt
    /// The file system is mounted so that nothing can be written.
    case readOnly
    /// The disk has no room, or less than is to be left free.
    case noRoom
    /// All that may be stored is.
    case quotaExceeded

    /// What uploads are refused with.
    var code: ResultCode {
        switch self {
        case .stopping: .shuttingDown
        case .inDoubt, .readOnly: .storageFailed
        case .noRoom: .insufficientStorage
        case .quotaExceeded: .quotaExceeded
        }
    }
}

extension ServerCore {
    /// Nothing where it takes uploads. Asks the file system, which can block.
    func unreadiness() -> [Unreadiness] {
        var reasons: [Unreadiness] = []
        if intake.isStopping.load(ordering: .relaxed) { reasons.append(.stopping) }
        if intake.store.isInDoubt { reasons.append(.inDoubt) }
        if space.isReadOnly { reasons.append(.readOnly) }
        if let room = space.room, room.free <= transport.settings.space.minimumFree ?? 0 { reasons.append(.noRoom) }
        if let quota = space.quota, quota.used >= quota.limit { reasons.append(.quotaExceeded) }
        return reasons
    }
}
