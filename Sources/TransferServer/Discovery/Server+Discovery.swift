import TransferIO
import TransferKeys
import TransferModel
import TransferProtocol
import TransferSystem

extension Server {
    /// Binds the sockets by which the server is found, while that can still be done. One that takes the place of another goes
    /// on without them if need be: those who know its address need no more.
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

    /// Answers from now on.
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
    /// What a sandbox takes away.
    fileprivate var shortcomings: [LogEvent] {
        do throws(SystemError) {
            _ = try NetworkInterface.all()
            return []
        } catch {
            return [.noNeighbours(error)]
        }
    }
}
