/// The events of one push. Iterate it once. The push goes on as long as its events are taken: it is cancelled when the
/// task that takes them is cancelled, or when nobody holds the events or their iterator any more.
public struct PushEvents: AsyncSequence, Sendable {
    /// What ends the sequence early.
    public typealias Failure = TransferFailure

    private let taker: EventTaker
    private let tellLeftOut: @Sendable () -> LeftOut

    init(channel: EventChannel, leftOut: @escaping @Sendable () -> LeftOut) {
        taker = EventTaker(channel: channel)
        tellLeftOut = leftOut
    }

    /// What `ClientConfiguration.selection` has left out so far; of a push that came to its end, all of it. May wait for a directory
    /// that is just being read.
    public var leftOut: LeftOut { tellLeftOut() }

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
        public mutating func next() async throws(TransferFailure) -> PushEvent? {
            try await taker.channel.next()
        }

        /// The next event, or nothing at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(TransferFailure) -> PushEvent? {
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

/// The events of a push.
typealias EventChannel = EventQueue<PushEvent>

extension EventQueue where Event == PushEvent {
    /// Reports the end of an upload, or of what it is a part of, unless that has been reported.
    func send(_ upload: PendingUpload, _ report: (PendingUpload) -> UploadReport) {
        if let reported = upload.takeReported() { send(.finished(report(reported))) }
    }
}
