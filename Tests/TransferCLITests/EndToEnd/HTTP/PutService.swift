import TransferHTTP
import TransferSystem

/// A server that stores what is PUT and knows nothing else, like that of nginx.
final class PutService: HTTPService {
    private struct State {
        var files: [String: [UInt8]] = [:]
        var instead: [@Sendable (HTTPServer.Request) -> HTTPServer.Answer?] = []
        var early: HTTPServer.Answer?
        var heads: [RequestHead] = []
    }

    private let knowsConditions: Bool
    private let state = Locked(State())

    /// - Parameter knowsConditions: whether the server obeys `If-None-Match`.
    init(knowsConditions: Bool = true) {
        self.knowsConditions = knowsConditions
    }

    /// The stored contents by their percent-encoded paths.
    var files: [String: [UInt8]] { state.withLock { $0.files } }

    var heads: [RequestHead] { state.withLock { $0.heads } }

    func store(_ path: String, _ bytes: [UInt8]) { state.withLock { $0.files[path] = bytes } }

    /// Replaces the answer to the next PUT.
    func instead(_ answer: @escaping @Sendable (HTTPServer.Request) -> HTTPServer.Answer?) {
        state.withLock { $0.instead.append(answer) }
    }

    /// Answers the next PUT before its content has arrived.
    func beEarly(_ answer: HTTPServer.Answer) { state.withLock { $0.early = answer } }

    func early(_ head: RequestHead) -> HTTPServer.Answer? {
        guard head.method == .put else { return nil }
        return state.withLock { state in
            defer { state.early = nil }
            return state.early
        }
    }

    func cut(_ request: HTTPServer.Request) {}

    func answer(_ request: HTTPServer.Request) -> HTTPServer.Answer? {
        let isPut = request.head.method == .put
        let instead = state.withLock { state in
            state.heads.append(request.head)
            return isPut && !state.instead.isEmpty ? state.instead.removeFirst() : nil
        }
        if let instead { return instead(request) }
        return usual(request)
    }

    func usual(_ request: HTTPServer.Request) -> HTTPServer.Answer {
        guard request.head.method == .put else { return HTTPServer.Answer(405) }
        return state.withLock { state in
            let isNew = state.files[request.head.target] == nil
            guard isNew || !knowsConditions || request["if-none-match"] != "*" else { return HTTPServer.Answer(412) }
            state.files[request.head.target] = request.body
            return HTTPServer.Answer(isNew ? 201 : 204)
        }
    }
}
