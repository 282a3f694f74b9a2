import TransferSystem

/// The events of one push. Iterate it once. The push goes on as long as its events are taken: it is cancelled when the
/// task that takes them is cancelled, or when nobody holds the events or their iterator any more.
public struct PushEvents: AsyncSequence, Sendable {
    /// What ends the sequence early.
    public typealias Failure = PushFailure

    private let taker: EventTaker

    init(channel: EventChannel) {
        taker = EventTaker(channel: channel)
    }

    /// Whether an event waits to be taken, so that the next one comes without delay. Who collects what it makes of events
    /// can go on while this is so.
    public var areWaiting: Bool { taker.channel.hasEvents }

    /// Ends the push; what is not acknowledged is reported as cancelled.
    public func cancel() {
        taker.channel.cancel()
    }

    /// Starts to take events.
    public func makeAsyncIterator() -> Iterator { Iterator(taker: taker) }

    /// Takes one event after the other.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let taker: EventTaker

        /// The next event, or nothing at the end.
        public mutating func next() async throws(PushFailure) -> PushEvent? {
            try await taker.channel.next()
        }

        /// The next event, or nothing at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(PushFailure) -> PushEvent? {
            try await taker.channel.next()
        }
    }
}

/// Whoever may still take events. Nobody would ever make room for more when there is none left.
private final class EventTaker: Sendable {
    let channel: EventChannel

    init(channel: EventChannel) {
        self.channel = channel
    }

    deinit {
        channel.cancel()
    }
}

/// Events on their way from the loop to whoever iterates. Bounded: past the limit the push starts no more uploads until
/// the reader has caught up.
final class EventChannel: Sendable {
    private struct State {
        var events: [PushEvent] = []
        var head = 0
        var end: Result<Void, PushFailure>?
        var reader: CheckedContinuation<Void, Never>?
        var onRoom: (@Sendable () -> Void)?
        var onCancel: (@Sendable () -> Void)?
        var isCancelled = false
        /// Whether a reader that waits is left waiting.
        var isGathering = false
    }

    /// Events that may wait. A result takes about 200 bytes.
    private static let limit = 8192

    private let state = Locked(State())

    /// Whether the reader is behind; `onRoom` is called when it no longer is.
    var isFull: Bool { state.withLock { $0.events.count - $0.head >= Self.limit } }

    /// Whether the reader would get an event at once.
    var hasEvents: Bool { state.withLock { $0.head < $0.events.count } }

    /// Whether nobody wants the rest of the push.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// - Parameters:
    ///   - onRoom: called on the reader's thread.
    ///   - onCancel: called once, at once when it was cancelled before.
    func connect(onRoom: @escaping @Sendable () -> Void, onCancel: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            state.onRoom = onRoom
            if !state.isCancelled { state.onCancel = onCancel }
            return state.isCancelled
        }
        if isCancelled { onCancel() }
    }

    func send(_ event: PushEvent) {
        let reader = state.withLock { state in
            state.events.append(event)
            return state.isGathering ? nil : state.reader.take()
        }
        reader?.resume()
    }

    /// Wakes a reader that waits once for all that `body` sends: a change of thread for each of a hundred results would
    /// cost more than the results. Only one at a time may gather.
    func gather<Result>(_ body: () -> Result) -> Result {
        state.withLock { $0.isGathering = true }
        defer {
            let reader = state.withLock { state in
                state.isGathering = false
                return state.head < state.events.count ? state.reader.take() : nil
            }
            reader?.resume()
        }
        return body()
    }

    /// Reports the end of an upload, or of what it is a part of, unless that has been reported.
    func send(_ upload: PendingUpload, _ report: (PendingUpload) -> UploadReport) {
        if let reported = upload.takeReported() { send(.finished(report(reported))) }
    }

    func finish(_ end: Result<Void, PushFailure>) {
        let reader = state.withLock { state in
            state.end = end
            state.onRoom = nil
            state.onCancel = nil
            return state.reader.take()
        }
        reader?.resume()
    }

    func cancel() {
        let onCancel = state.withLock { state in
            state.isCancelled = true
            return state.onCancel.take()
        }
        onCancel?()
    }

    func next() async throws(PushFailure) -> PushEvent? {
        while true {
            switch take() {
            case .event(let event, let onRoom):
                onRoom?()
                return event
            case .end(let end):
                try end.get()
                return nil
            case .empty: await wait()
            }
        }
    }

    private enum Taken {
        case event(PushEvent, onRoom: (@Sendable () -> Void)?)
        case end(Result<Void, PushFailure>)
        case empty
    }

    private func take() -> Taken {
        state.withLock { state in
            guard state.head < state.events.count else {
                guard let end = state.end else { return .empty }
                return .end(end)
            }
            let event = state.events[state.head]
            state.head += 1
            let left = state.events.count - state.head
            // A reader that is always a little behind must not make the list grow for ever.
            if left == 0 || state.head >= Self.limit {
                state.events.removeFirst(state.head)
                state.head = 0
            }
            return .event(event, onRoom: left == Self.limit / 2 ? state.onRoom : nil)
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if state.head < state.events.count || state.end != nil { return true }
                    state.reader = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            cancel()
        }
    }
}
