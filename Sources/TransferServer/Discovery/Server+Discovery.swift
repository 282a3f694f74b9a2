import TransferIO
import TransferKeys
import TransferModel
import TransferProtocol
import TransferSystem

extension Server {
    /// Binds the sockets for discovery, before the process is confined. A restarted worker continues without them if they cannot be bound:
    /// clients that know its address do not need them.
    func bindDiscovery(_ listening: [SocketAddress]) async throws(ServerError) {
        guard let options = core.configuration.discovery else { return }
        let bound = await core.transport.pool.run { [core] in
            Result { () throws(ServerError) in
                try DiscoveryService(options, listening: listening, networkOf: core.configuration.network)
            }
        }
        switch bound {
        case .success(let service): discovery = service
        case .failure(let error):
            guard core.configuration.isRestart else { throw error }
            core.observability.log.write([.notDiscoverable(error.message)])
        }
    }

    /// Begins to answer clients that look for the server.
    func beDiscovered() {
        guard let discovery else { return }
        do throws(SystemError) {
            try discovery.run { [transport = core.transport] in
                transport.tls?.key.map { KeyFingerprint(of: $0.bytes).digest.bytes }
            }
        } catch {
            return core.observability.log.write([.notDiscoverable("Cannot start a thread: \(error).")])
        }
        guard !core.configuration.isRestart else { return }
        core.observability.log.write(
            discovery.addresses.map { .discoverable($0.description, discovery.name.text) } + discovery.shortcomings)
    }
}

extension DiscoveryService {
    /// Events about what the sandbox forbids.
    fileprivate var shortcomings: [LogEvent] {
        do throws(SystemError) {
            _ = try NetworkInterface.all()
            return []
        } catch {
            return [.broadcastsUnavailable(error)]
        }
    }
}
