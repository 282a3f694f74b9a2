import Synchronization
import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel
import TransferReceipts
import TransferStore

/// What is asked for below the server's own name, which no file can have.
extension HTTPWorker {
    /// `/.transfer/events`.
    func tellEvents(_ request: HTTPRequest, _ target: HTTPTarget) {
        let last = request.head.fields.values("last-event-id").last.flatMap { EventID($0) }
        let answer = HTTPEvents(
            target.path, service, uploads, last: last, isChunked: request.head.version != .http10)
        guard request.head.method == .get else { return sayHead(request, of: answer) }
        begin(answer, to: request)
    }

    /// `/.transfer/receipt/ID`, with the client's id of an upload.
    func giveReceipt(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) {
        let text = target.path.utf8.dropFirst("\(RelativePath.reservedName)/receipt/".utf8.count)
        guard let id = UploadID(hexadecimal: text), let receipt = uploads.intake.receipt(of: client.inner(id)) else {
            throw HTTPRefusal(404, .notFound, "There is no receipt of such an upload.")
        }
        reply(
            request,
            HTTPReply(
                200, [("Cache-Control", "private, no-store")], receipt.jsonBytes + [UInt8(ascii: "\n")],
                type: "application/json"))
    }
}

extension UploadID {
    /// - Returns: nothing for what `description` does not give.
    fileprivate init?(hexadecimal text: some Collection<UInt8>) {
        let digits = text.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count == 32, text.allSatisfy({ $0 < 0x80 }), digits.allSatisfy({ $0 != nil }) else { return nil }
        let values = digits.compactMap(\.self).map { UInt64($0) }
        self.init(
            high: values[..<16].reduce(0) { $0 << 4 | $1 }, low: values[16...].reduce(0) { $0 << 4 | $1 })
    }
}

/// What programs ask that watch over the server.
extension HTTPWorker {
    /// - Returns: whether the request was one of those, and has its answer.
    func answerProbe(_ request: HTTPRequest) throws(HTTPRefusal) -> Bool {
        guard let probe = service.probe(request.head) else {
            guard service.isForProbes else { return false }
            throw HTTPRefusal(404, .notFound, "There is nothing here but /metrics, /healthz and /readyz.")
        }
        guard [.get, .head].contains(request.head.method) else {
            throw HTTPRefusal(405, .wrongForm, "This is only asked.", [("Allow", "GET, HEAD")])
        }
        switch probe {
        case .health: reply(request, HTTPReply(200, Self.unstored, Array("ok\n".utf8), type: Self.plain))
        case .readiness: reply(request, readiness)
        case .metrics: try tellMetrics(request)
        }
        return true
    }

    /// Its numbers say how much others send: who may not see all of it may not see them.
    private func tellMetrics(_ request: HTTPRequest) throws(HTTPRefusal) {
        if !service.isForProbes {
            try admit(request.client.admitted())
            let options = client.grant.options
            guard options.rights.mayRead, options.folder == nil else {
                throw HTTPRefusal(403, .forbidden, "This is for clients that may see everything.")
            }
        }
        let offers = ["text/plain", "application/openmetrics-text"]
        let accepted = Negotiation.mediaType(request.head.fields.values("accept"), of: offers)
        let format = accepted == offers[1] ? MetricsWriter.Format.openMetrics : .prometheus
        var page = MetricsPage(service.core, format)
        reply(request, HTTPReply(200, Self.unstored + [("Vary", "Accept")], page.text(), type: format.contentType))
    }

    private static let unstored = [("Cache-Control", "no-store")]

    private static let plain = "text/plain; charset=utf-8"

    private var readiness: HTTPReply {
        let reasons = service.core.unreadiness()
        guard let first = reasons.first else {
            return HTTPReply(200, Self.unstored, Array("ready\n".utf8), type: Self.plain)
        }
        var document = ProblemDetails(503, first.code, "The server takes no uploads now.")
        document.extensions.append(("reasons", .array(reasons.map { .string($0.rawValue) })))
        return HTTPReply(
            503, Self.unstored + [("Retry-After", "5")], document.bytes, type: ProblemDetails.contentType)
    }
}

extension Result<HTTPRequest.Client, Refusal> {
    /// - Throws: why nobody was let in.
    func admitted() throws(HTTPRefusal) -> HTTPRequest.Client {
        switch self {
        case .success(let client): return client
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

/// What is asked of the server itself, and not of what is stored in it.
struct HTTPService: Sendable {
    let core: ServerCore

    /// Whether nothing else is answered on the connection.
    let isForProbes: Bool

    var shared: HTTPShared { core.http }

    init(_ core: ServerCore, isForProbes: Bool) {
        (self.core, self.isForProbes) = (core, isForProbes)
    }

    /// - Returns: nothing for a request that is about something else.
    func probe(_ head: RequestHead) -> HTTPProbe? {
        guard let probe = HTTPProbe(head) else { return nil }
        // Where they are told elsewhere or not at all, a file may be called so.
        return probe == .metrics && !isForProbes && core.configuration.metrics != .on ? nil : probe
    }

    /// Whether whoever asks has his answer without showing who he is.
    func isForAnybody(_ head: RequestHead) -> Bool {
        isForProbes || probe(head).map { $0 != .metrics } ?? false
    }
}

/// What all connections of a server share on which HTTP is spoken.
final class HTTPShared: Sendable {
    let digests = ReprDigests()
    let news = UploadNews()
    let running: RunningUploads

    init(_ connections: ConnectionList) {
        running = RunningUploads(connections)
    }
}

/// HTTP on a listener of its own, for programs that watch over the server: nothing else is answered there, and nobody has to show who
/// he is.
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
        if store.isInDoubt { reasons.append(.inDoubt) }
        if store.isReadOnly { reasons.append(.readOnly) }
        if let room = store.room, room.free <= transport.settings.space.minimumFree ?? 0 { reasons.append(.noRoom) }
        if let quota = store.quota, quota.used >= quota.limit { reasons.append(.quotaExceeded) }
        return reasons
    }
}
