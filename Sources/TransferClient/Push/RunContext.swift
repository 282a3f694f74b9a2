import TransferCodec
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// The settings and resources that the parts of one push share.
final class RunContext: Sendable {
    let server: ServerAddress
    let configuration: ClientConfiguration
    let loop: EventLoop
    let pool: BlockingPool
    let buffers: BufferPool
    let feed: UploadFeed
    let channel: EventChannel
    let lanes: Lanes
    let abandoned = AbandonedUploads()
    let compressors = CompressorPool()

    /// The limit of the rate; nil for no limit.
    let bandwidth: Bandwidth?

    /// How uploads are sealed; nil if they are not.
    let sealing: SealedPush?

    /// TLS of the client; nil for connections without TLS.
    let security: ClientSecurity?

    /// Seconds for which the server keeps the parts of an unfinished upload; nil if it has not said.
    let keeps = Locked<UInt32?>(nil)

    /// The number by which the server knows that connections belong to this push, or to the same command.
    let number: UInt64

    init(
        server: ServerAddress, configuration: ClientConfiguration, loop: EventLoop, pool: BlockingPool,
        buffers: BufferPool, feed: UploadFeed, security: ClientSecurity? = nil, sealing: SealedPush? = nil,
        channel: EventChannel = EventChannel(), number: UInt64 = .random(in: .min ... .max)
    ) {
        self.number = number
        (self.sealing, self.channel) = (sealing, channel)
        self.security = security
        self.server = server
        self.configuration = configuration
        self.loop = loop
        self.pool = pool
        self.buffers = buffers
        self.feed = feed
        bandwidth = configuration.bandwidth.map { Bandwidth(bytesPerSecond: $0) }
        lanes = Lanes(
            configuration.laneAllowance(), sharing: configuration.sharing, waitsForAnswer: configuration.token != nil)
        feed.share(lanes.sharing)
    }

    var timeouts: Liveness.Timeouts { configuration.timeouts }
}

extension ClientConfiguration {
    /// The least seconds to wait for the handshake, even with a short `retryFor`: three round trips over a satellite.
    private static let leastHandshake = 3.0

    var timeouts: Liveness.Timeouts {
        var timeouts = Liveness.Timeouts()
        // A caller that retries for a few seconds only should not wait for longer at the first attempt.
        let patience = retryFor > 0 ? max(retryFor, Self.leastHandshake) : handshakeTimeout
        timeouts.handshake = .seconds(min(handshakeTimeout, patience))
        timeouts.silence = .seconds(silenceTimeout)
        timeouts.answer = .seconds(max(answerTimeout, retryFor))
        // A client closes the connection when it is done, and waits for its sources as long as needed.
        timeouts.idle = Interval(nanoseconds: .max)
        return timeouts
    }
}
