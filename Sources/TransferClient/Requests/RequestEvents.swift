/// The results of a list, a pull, a read or a removal, in order. May be iterated once. The command goes on while its
/// results are taken; it stops when the iterating task is cancelled, or when neither the sequence nor its iterator is
/// referenced any more.
public struct RequestEvents<Event: Sendable>: AsyncSequence, Sendable {
    /// One result of the command.
    public typealias Element = Event

    /// The error that ends the sequence early.
    public typealias Failure = TransferFailure

    private let taker: Taker

    init(_ events: EventQueue<Event>) {
        taker = Taker(events)
    }

    /// Whether an event is ready, so that `next` returns without waiting.
    public var areWaiting: Bool { taker.events.hasEvents }

    /// Stops the command that sends the events.
    public func cancel() {
        taker.events.cancel()
    }

    /// Makes the iterator; to be called once.
    public func makeAsyncIterator() -> Iterator { Iterator(taker: taker) }

    /// Takes the events, one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let taker: Taker

        /// The next event; nil at the end.
        public mutating func next() async throws(TransferFailure) -> Event? {
            try await taker.events.next()
        }

        /// The next event; nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(TransferFailure) -> Event? {
            try await taker.events.next()
        }
    }

    /// Referenced by the sequence and its iterator. When the last reference is gone, it cancels the command, which
    /// would otherwise wait forever for room in the queue.
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
