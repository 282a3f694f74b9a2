import TransferModel
import TransferProtocol
import TransferSystem

/// Requests for one connection; more may be added while it runs.
final class RequestQueue: RequestPlan, RequestSource {
    private struct State {
        /// Begins with `first` requests that were taken out already.
        var waiting: [PendingRequest] = []
        var first = 0
        /// Number of requests that were taken out and have no answer.
        var open = 0
        var news: (@Sendable () -> Void)?
        var welcome: Welcome?
        var server: ProvenServer?
        var lookup: UploadLookup?
    }

    private let state = Locked(State())
    private let isFull: @Sendable () -> Bool

    let needs: Features

    /// - Parameters:
    ///   - needs: features that the server has to have.
    ///   - lookup: uploads to look up on the server beside the requests.
    ///   - isFull: whether the consumers of the answers are behind; call `resume` when they have caught up.
    init(
        needs: Features = .files, lookup: UploadLookup? = nil, isFull: @escaping @Sendable () -> Bool = { false }
    ) {
        self.needs = needs
        self.isFull = isFull
        state.withLock { $0.lookup = lookup }
    }

    /// The server's answers so far about the uploads to look up.
    var found: [UploadID: UploadResult] { state.withLock { $0.lookup?.found ?? [:] } }

    /// The server's latest welcome; nil before the first one.
    var welcome: Welcome? { state.withLock { $0.welcome } }

    /// What the connection has proved about the server's identity.
    var server: ProvenServer? { state.withLock { $0.server } }

    func add(_ asked: PendingRequest) {
        let news = state.withLock { state in
            state.waiting.append(asked)
            return state.news
        }
        news?()
    }

    /// Counts a request that was taken out as answered.
    func answered() {
        state.withLock { $0.open -= 1 }
    }

    /// Puts back a request that was taken out, so that it is sent again.
    func again(_ asked: PendingRequest) {
        state.withLock { state in
            state.open -= 1
            state.waiting.append(asked)
        }
    }

    func resume() {
        let news = state.withLock { $0.news }
        news?()
    }

    // MARK: RequestPlan

    func makeSource(isFirst: Bool) -> any RequestSource { self }

    var wantsLane: Bool { false }

    func connect(_ news: @escaping @Sendable () -> Void) {
        state.withLock { $0.news = news }
    }

    func letGo() { state.withLock { $0 = State(welcome: $0.welcome, server: $0.server, lookup: $0.lookup) } }

    func connected() {}

    func reconnecting(reason: String, after seconds: Double) {}

    // MARK: RequestSource

    func welcomed(_ welcome: Welcome, by server: ProvenServer) {
        state.withLock { ($0.welcome, $0.server) = (welcome, server) }
    }

    func next(_ count: Int, _ bytes: Int) -> [PendingRequest] {
        state.withLock { state in
            var room = bytes
            var next: [PendingRequest] = []
            while next.count < count, state.first < state.waiting.count {
                let asked = state.waiting[state.first]
                guard asked.request.cost <= room else { break }
                room -= asked.request.cost
                next.append(asked)
                state.first += 1
            }
            // Drop the requests that were taken out, also if the queue never becomes empty.
            if state.first == state.waiting.count || state.first >= 1024 && state.first > state.waiting.count / 2 {
                state.waiting.removeFirst(state.first)
                state.first = 0
            }
            state.open += next.count
            return next
        }
    }

    func settle() {}

    var isOver: Bool {
        state.withLock { $0.first == $0.waiting.count && $0.open == 0 && $0.lookup?.question == nil }
    }

    var lookup: Lookup? { state.withLock { $0.lookup?.question } }

    func known(_ result: UploadResult) { state.withLock { $0.lookup?.answered(result) } }

    func unknown(_ ids: [UploadID]) { state.withLock { $0.lookup?.answered(unknown: ids) } }

    func mayRead(_ next: Request?) -> Bool { !isFull() }
}
