import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel

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
