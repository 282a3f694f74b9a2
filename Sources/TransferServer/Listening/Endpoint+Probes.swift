import TransferIO
import TransferSystem

extension Endpoint {
    /// Binds sockets for monitoring programs. Blocks.
    ///
    /// - Throws: `ServerError`; then all sockets are closed.
    func boundForProbes() throws(ServerError) -> [BoundSocket] {
        let addresses: [SocketAddress]
        do throws(ResolutionError) {
            addresses = try resolve()
        } catch {
            throw cannotListen(error.reason)
        }
        var bound: [BoundSocket] = []
        do throws(SystemError) {
            for address in addresses { bound.append(try bind(address)) }
            return bound
        } catch {
            for socket in bound { socket.close() }
            throw cannotListen(error.reason)
        }
    }

    private func bind(_ address: SocketAddress) throws(SystemError) -> BoundSocket {
        if case .unix(let path) = self { return try BoundSocket(address, unixPath: path) }
        return try BoundSocket(address)
    }

    private func cannotListen(_ reason: String) -> ServerError {
        ServerError("Cannot listen on \(self) for --metrics: \(reason).")
    }
}
