/// What comes of a list, a pull, a read or a removal, one after the other. Iterate it once. It goes on as long as it is
/// taken: it is stopped when the task that takes it is cancelled, or when nobody holds it or its iterator any more.
public struct RequestEvents<Event: Sendable>: AsyncSequence, Sendable {
    /// What comes.
    public typealias Element = Event

    /// What ends the sequence early.
    public typealias Failure = TransferFailure

    private let taker: Taker

    init(_ events: EventQueue<Event>) {
        taker = Taker(events)
    }

    /// Whether something waits to be taken, so that the next one comes without delay.
    public var areWaiting: Bool { taker.events.hasEvents }

    /// Stops.
    public func cancel() {
        taker.events.cancel()
    }

    /// Starts to take.
    public func makeAsyncIterator() -> Iterator { Iterator(taker: taker) }

    /// Takes one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let taker: Taker

        /// The next one, or nothing at the end.
        public mutating func next() async throws(TransferFailure) -> Event? {
            try await taker.events.next()
        }

        /// The next one, or nothing at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(TransferFailure) -> Event? {
            try await taker.events.next()
        }
    }

    /// Whoever may still take. Nobody would ever make room for more when there is none left.
    fileprivate final class Taker: Sendable {
        let events: EventQueue<Event>

        init(_ events: EventQueue<Event>) {
            self.events = events
        }

        deinit {
            events.cancel()
        }
    }
}
