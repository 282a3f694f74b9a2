import TransferIO
import TransferModel
import TransferSystem

/// What the connections of one list, pull, read or removal share.
final class RequestContext: Sendable {
    let server: ServerAddress
    let configuration: ClientConfiguration
    let loops: ClientLoops
    let pool: BlockingPool
    let buffers: BufferPool
    let security: ClientSecurity?
    /// Holds the rate at which all connections together receive, where one is wanted.
    let bandwidth: Bandwidth?

    init(
        server: ServerAddress, configuration: ClientConfiguration, loops: ClientLoops, pool: BlockingPool,
        buffers: BufferPool, security: ClientSecurity?
    ) {
        self.server = server
        self.configuration = configuration
        self.loops = loops
        self.pool = pool
        self.buffers = buffers
        self.security = security
        bandwidth = configuration.bandwidth.map { Bandwidth(bytesPerSecond: $0) }
    }

    /// Where everything lives but some of the connections.
    var loop: EventLoop { loops.main }

    /// The same with less patience.
    ///
    /// - Parameter seconds: for which a lost connection is tried again at most.
    func trying(for seconds: Double) -> RequestContext {
        var configuration = configuration
        configuration.retryFor = min(configuration.retryFor, seconds)
        return RequestContext(
            server: server, configuration: configuration, loops: loops, pool: pool, buffers: buffers,
            security: security)
    }

    /// A path on the server: that of a request is below the folder of the address.
    func remote(_ path: String) -> String {
        server.folder.isEmpty || path.isEmpty ? server.folder + path : "\(server.folder)/\(path)"
    }
}
