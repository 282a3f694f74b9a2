import TransferModel
import TransferProtocol
import TransferSystem

/// What the status shows of a connection. Its session writes it when the client is known, its worker once for each batch; any thread may
/// read it.
package final class ConnectionProgress: Sendable {
    /// The upload, or the part of one, that the connection works on.
    struct Current: Sendable {
        /// The server's ID of the whole upload.
        let id: UploadID
        let path: String
        /// The client; nil if the server cannot distinguish clients.
        let client: UInt64?
        /// Bytes of the whole upload; nil if they are not known.
        let size: UInt64?
        /// Whether this connection sends a part of the upload, so that other connections can send other parts.
        let isPart: Bool
        /// Nanoseconds of the monotonic clock.
        let started: Int64
        /// Received bytes that are not in a verified part yet.
        var received: UInt64
    }

    struct State: Sendable {
        /// Address of the client if a proxy is connected; nil otherwise.
        var asking: String?
        /// Name of the client, as soon as it is known.
        var client: String?
        /// Whether the handshake is done.
        var isEstablished = false
        /// Whether the client is silent and its session has ended.
        var isResting = false
        /// Uploads that were acknowledged on this connection.
        var stored = 0
        /// Bytes of content received on this connection.
        var received: UInt64 = 0
        /// Bytes of answers to requests.
        var sent: UInt64 = 0
        /// Rate of received and sent bytes together.
        var rate: RateEstimate
        var current: Current?
    }

    let number: Int

    /// The client's address and port.
    let peer: String

    /// UTC, in nanoseconds since 1970.
    let since = utcNanoseconds()

    /// The counters of all connections; nil in tests without counters.
    private let metrics: ServerMetrics?
    private let traffic = Locked<ServerMetrics.Traffic?>(nil)

    private let state = Locked(State(rate: RateEstimate(start: monotonicNanoseconds())))

    package convenience init(_ number: Int, peer: String) { self.init(number, peer: peer, counting: nil) }

    init(_ number: Int, peer: String, counting metrics: ServerMetrics?) {
        (self.number, self.peer, self.metrics) = (number, peer, metrics)
    }

    /// Notes the protocol of the connection.
    func speaks(_ wire: ServerMetrics.Wire) {
        let counted = metrics?.traffic[wire]
        traffic.withLock { $0 = counted }
    }

    var present: State { state.withLock { $0 } }

    /// Notes that the client is admitted.
    func established(client: String?) {
        state.withLock { state in
            state.isEstablished = true
            state.client = client
        }
    }

    /// Notes that the client has become idle, or that it no longer is.
    func rests(_ isResting: Bool) {
        state.withLock { $0.isResting = isResting }
    }

    /// Notes the client that asks through a proxy.
    func asks(_ name: String) {
        state.withLock { $0.asking = name }
    }

    /// Counts answers that are being sent.
    func answered(_ bytes: Int) {
        let (bytes, now) = (UInt64(clamping: bytes), monotonicNanoseconds())
        traffic.withLock { $0 }?.sent.add(bytes)
        state.withLock { state in
            state.sent = state.sent.addingClamped(bytes)
            state.rate.add(bytes, at: now)
        }
    }

    /// Notes the progress after a batch.
    ///
    /// - Parameters:
    ///   - bytes: number of bytes of content in the batch.
    ///   - uploads: number of uploads acknowledged since the last batch.
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

    /// Counts an upload that is settled.
    ///
    /// - Parameter duration: nanoseconds since it began.
    func settled(_ code: ResultCode, after duration: Int64) {
        traffic.withLock { $0 }?.results.add(code)
        if code.isSuccess { metrics?.uploadDurations.add(duration) }
    }

    /// Counts a publication of complete uploads.
    ///
    /// - Parameter duration: nanoseconds that it took.
    func committed(after duration: Int64) { metrics?.commitDurations.add(duration) }
}
