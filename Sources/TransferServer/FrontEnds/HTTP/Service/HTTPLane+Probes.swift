import TransferHTTP
import TransferModel

/// What programs ask that watch over the server.
extension HTTPLane {
    /// - Returns: whether the request was one of those, and has its answer.
    func answerProbe(_ request: HTTPRequest) throws(HTTPRefusal) -> Bool {
        guard let probe = service.probe(request.head) else { return false }
        guard [.get, .head].contains(request.head.method) else {
            throw HTTPRefusal(405, .wrongForm, "This is only asked.", [("Allow", "GET, HEAD")])
        }
        switch probe {
        case .health: reply(request, HTTPReply(200, Self.unstored, Array("ok\n".utf8), type: Self.plain))
        case .readiness: reply(request, readiness)
        }
        return true
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
