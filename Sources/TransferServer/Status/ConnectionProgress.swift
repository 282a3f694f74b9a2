import TransferModel
import TransferProtocol
import TransferSystem

/// What can be seen of a connection from outside of its loop and its worker, which write it: the session when the client is
/// known, the worker once for each batch.
package final class ConnectionProgress: Sendable {
    /// The upload that the connection works on, or a part of it.
    struct Current: Sendable {
        /// The server's id of the whole upload.
        let id: UploadID
        let path: String
        /// Who sends it; nothing for one that cannot be told from others.
        let client: UInt64?
        /// Bytes of the whole upload, where they are known.
        let size: UInt64?
        /// Whether other connections may bring other parts.
        let isPart: Bool
        /// Nanoseconds of the monotonic clock.
        let started: Int64
        /// Bytes that have come and are not part of what is verified.
        var received: UInt64
    }

    struct State: Sendable {
        /// The address of who asks, where the client is a proxy.
        var asking: String?
        /// Who it is, as soon as that is known.
        var client: String?
        /// Whether the handshake is done.
        var isEstablished = false
        /// Whether it is kept with as little memory as that takes, because the client says nothing.
        var isResting = false
        /// Uploads that were acknowledged.
        var stored = 0
        /// Bytes of content.
        var received: UInt64 = 0
        /// Bytes of answers to requests.
        var sent: UInt64 = 0
        /// Of both.
        var rate: RateEstimate
        var current: Current?
    }

    let number: Int

    /// The client's address.
    let peer: String

    /// UTC, in nanoseconds since 1970.
    let since = utcNanoseconds()

    /// What is counted over all connections; nothing where nobody counts.
    private let metrics: ServerMetrics?
    private let traffic = Locked<ServerMetrics.Traffic?>(nil)

    private let state = Locked(State(rate: RateEstimate(start: monotonicNanoseconds())))

    package convenience init(_ number: Int, peer: String) { self.init(number, peer: peer, counting: nil) }

    init(_ number: Int, peer: String, counting metrics: ServerMetrics?) {
        (self.number, self.peer, self.metrics) = (number, peer, metrics)
    }

    /// It is known what is spoken.
    func speaks(_ wire: ServerMetrics.Wire) {
        let counted = metrics?.traffic[wire]
        traffic.withLock { $0 = counted }
    }

    var present: State { state.withLock { $0 } }

    /// The client may come in.
    func established(client: String?) {
        state.withLock { state in
            state.isEstablished = true
            state.client = client
        }
    }

    /// The client says nothing for now, or says something again.
    func rests(_ isResting: Bool) {
        state.withLock { $0.isResting = isResting }
    }

    /// Somebody asks who may not be the one that is connected.
    func asks(_ name: String) {
        state.withLock { $0.asking = name }
    }

    /// Answers to requests are on their way.
    func answered(_ bytes: Int) {
        let (bytes, now) = (UInt64(clamping: bytes), monotonicNanoseconds())
        traffic.withLock { $0 }?.sent.add(bytes)
        state.withLock { state in
            state.sent = state.sent.addingClamped(bytes)
            state.rate.add(bytes, at: now)
        }
    }

    /// A batch was worked on.
    ///
    /// - Parameters:
    ///   - bytes: of content in it.
    ///   - uploads: that were acknowledged since the last batch.
    func advance(_ bytes: UInt64, uploads: Int, _ current: Current?) {
        let now = monotonicNanoseconds()
        if bytes > 0 { traffic.withLock { $0 }?.received.add(bytes) }
        state.withLock { state in
            state.received = state.received.addingClamped(bytes)
            state.stored += uploads
            state.rate.add(bytes, at: now)
            state.current = current
        }
    }

    /// An upload has its result.
    ///
    /// - Parameter duration: nanoseconds since it began.
    func settled(_ code: ResultCode, after duration: Int64) {
        traffic.withLock { $0 }?.results.add(code)
        if code.isSuccess { metrics?.uploadDurations.add(duration) }
    }

    /// Complete uploads were published.
    ///
    /// - Parameter duration: nanoseconds that this took.
    func committed(after duration: Int64) { metrics?.commitDurations.add(duration) }
}
