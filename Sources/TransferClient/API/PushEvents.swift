/// The events of one push, to be iterated once. The push goes on as long as its events are taken: it is cancelled when
/// the task that takes them is cancelled, or when the last reference to the events and their iterator is released.
public struct PushEvents: AsyncSequence, Sendable {
    /// The error that ends the sequence early.
    public typealias Failure = TransferFailure

    private let taker: EventTaker
    private let tellLeftOut: @Sendable () -> LeftOut

    init(channel: EventChannel, leftOut: @escaping @Sendable () -> LeftOut) {
        taker = EventTaker(channel: channel)
        tellLeftOut = leftOut
    }

    /// The files and folders that `ClientConfiguration.selection` has left out so far; all of them once the push has
    /// ended. Reading the property can block while a directory is being read.
    public var leftOut: LeftOut { tellLeftOut() }

    /// Whether an event is ready, so that the next one comes without delay. While this is true, a consumer can go on
    /// collecting output.
    public var areWaiting: Bool { taker.channel.hasEvents }

    /// Ends the push; uploads that are not acknowledged are reported as cancelled.
    public func cancel() {
        taker.channel.cancel()
    }

    /// Creates the only iterator of the events.
    public func makeAsyncIterator() -> Iterator { Iterator(taker: taker) }

    /// Takes the events one by one.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let taker: EventTaker

        /// Waits for the next event; nil after the last one. Throws `TransferFailure` if the push cannot go on.
        public mutating func next() async throws(TransferFailure) -> PushEvent? {
            try await taker.channel.next()
        }

        /// Waits for the next event like `next()`, on the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(TransferFailure) -> PushEvent? {
            try await taker.channel.next()
        }
    }
}

/// Cancels the push when the last reference is released: without a consumer, a full queue would stay full.
private final class EventTaker: Sendable {
    let channel: EventChannel

    init(channel: EventChannel) {
        self.channel = channel
    }

    deinit {
        channel.cancel()
    }
}

/// The queue between a push and the consumer of the events.
typealias EventChannel = EventQueue<PushEvent>

extension EventQueue where Event == PushEvent {
    /// Reports the end of an upload. For a part of an upload, it reports the end of the whole upload, unless that was
    /// reported before.
    func send(_ upload: PendingUpload, _ report: (PendingUpload) -> UploadReport) {
        if let reported = upload.takeReported() { send(.finished(report(reported))) }
    }
}
