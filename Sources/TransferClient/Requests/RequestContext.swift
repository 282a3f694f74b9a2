import TransferIO
import TransferModel
import TransferSystem

/// What all connections of one list, pull, read or removal share.
final class RequestContext: Sendable {
    let server: ServerAddress
    let configuration: ClientConfiguration
    let loops: ClientLoops
    let pool: BlockingPool
    let buffers: BufferPool
    let security: ClientSecurity?
    /// Bounds the rate at which all connections together receive; nil if there is no bound.
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

    /// The main loop, which runs everything except some of the connections.
    var loop: EventLoop { loops.main }

    /// The same context with a shorter time for reconnecting.
    ///
    /// - Parameter seconds: how long at most the client tries to connect again after a connection was lost.
    func trying(for seconds: Double) -> RequestContext {
        var configuration = configuration
        configuration.retryFor = min(configuration.retryFor, seconds)
        return RequestContext(
            server: server, configuration: configuration, loops: loops, pool: pool, buffers: buffers,
            security: security)
    }

    /// The path on the server for a caller's path, which is below the folder of the server's address.
    func remote(_ path: String) -> String {
        server.folder.isEmpty || path.isEmpty ? server.folder + path : "\(server.folder)/\(path)"
    }
}
