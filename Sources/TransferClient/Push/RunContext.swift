import TransferCodec
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// What the parts of one push share.
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

    /// Nothing where no rate is to be held.
    let bandwidth: Bandwidth?

    /// How uploads are sealed; nothing where they are not.
    let sealing: SealedPush?

    /// TLS; nothing without.
    let security: ClientSecurity?

    /// Seconds for which the server keeps what has arrived of an unfinished upload, as far as it said.
    let keeps = Locked<UInt32?>(nil)

    /// Tells the server which connections are of this push, or of the command that it is part of.
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
    /// Seconds that even an impatient client waits for an answer: three round trips over a satellite.
    private static let leastHandshake = 3.0

    var timeouts: Liveness.Timeouts {
        var timeouts = Liveness.Timeouts()
        // Who wants to try for some seconds only does not want to wait for longer at the first try.
        let patience = retryFor > 0 ? max(retryFor, Self.leastHandshake) : handshakeTimeout
        timeouts.handshake = .seconds(min(handshakeTimeout, patience))
        timeouts.silence = .seconds(silenceTimeout)
        timeouts.answer = .seconds(max(answerTimeout, retryFor))
        // A client closes the connection when it is done, and waits for its sources as long as they take.
        timeouts.idle = Interval(nanoseconds: .max)
        return timeouts
    }
}
