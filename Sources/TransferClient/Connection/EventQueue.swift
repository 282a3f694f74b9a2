import TransferSystem

/// The queue of events between a client's loop and the consumer that iterates over them. It is bounded: while it is
/// full, a push starts no more uploads.
final class EventQueue<Event: Sendable>: Sendable {
    private struct State {
        var events: [Event] = []
        var head = 0
        var end: Result<Void, TransferFailure>?
        var reader: CheckedContinuation<Void, Never>?
        var onRoom: (@Sendable () -> Void)?
        var onCancel: (@Sendable () -> Void)?
        var isCancelled = false
        /// Whether `gather` is running: a waiting reader is woken only at its end.
        var isGathering = false
    }

    /// The number of events that may wait. An event with a result takes about 200 bytes.
    private let limit: Int

    private let state = Locked(State())

    init(limit: Int = 8192) {
        self.limit = limit
    }

    /// Whether the reader is behind. `onRoom` is called when half of the events are taken.
    var isFull: Bool { state.withLock { $0.events.count - $0.head >= limit } }

    /// Whether the reader would get an event at once.
    var hasEvents: Bool { state.withLock { $0.head < $0.events.count } }

    /// Whether the consumer has cancelled the push or request.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// - Parameters:
    ///   - onRoom: called on the reader's thread.
    ///   - onCancel: called when the consumer cancels, at most once; called immediately if the consumer has cancelled
    ///     before.
    func connect(onRoom: @escaping @Sendable () -> Void, onCancel: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            state.onRoom = onRoom
            if !state.isCancelled { state.onCancel = onCancel }
            return state.isCancelled
        }
        if isCancelled { onCancel() }
    }

    func send(_ event: Event) {
        let reader = state.withLock { state in
            state.events.append(event)
            return state.isGathering ? nil : state.reader.take()
        }
        reader?.resume()
    }

    /// Wakes a waiting reader once for all events that `body` sends: changing threads for each of a hundred results
    /// would cost more than the results. Only one caller may gather at a time.
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

    func finish(_ end: Result<Void, TransferFailure>) {
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

    func next() async throws(TransferFailure) -> Event? {
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
        case event(Event, onRoom: (@Sendable () -> Void)?)
        case end(Result<Void, TransferFailure>)
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
            // Remove taken events also if the reader never quite catches up; otherwise the array would grow without
            // bound.
            if left == 0 || state.head >= limit {
                state.events.removeFirst(state.head)
                state.head = 0
            }
            return .event(event, onRoom: left == limit / 2 ? state.onRoom : nil)
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
