package import TransferIO
import TransferSystem

extension ServerConfiguration {
    /// The sockets to accept on: those that were handed over, or else new ones for each endpoint. Blocks.
    ///
    /// - Returns: the caller's to close.
    /// - Throws: `ServerError`; then none is open.
    package func bind() throws(ServerError) -> [BoundSocket] {
        var bound = sockets
        do throws(ServerError) {
            for socket in sockets { try checkReach(of: socket.address, socket.endpoint) }
            guard sockets.isEmpty else { return sockets }
            for endpoint in endpoints {
                for address in try Self.resolve(endpoint) { bound.append(try bind(endpoint, address)) }
            }
            return bound
        } catch {
            for socket in bound { socket.close() }
            throw error
        }
    }

    private static func resolve(_ endpoint: Endpoint) throws(ServerError) -> [SocketAddress] {
        do throws(ResolutionError) {
            return try endpoint.resolve()
        } catch {
            throw ServerError("Cannot listen on \(endpoint): \(error.reason).")
        }
    }

    private func bind(_ endpoint: Endpoint, _ address: SocketAddress) throws(ServerError) -> BoundSocket {
        try checkReach(of: address, endpoint)
        do throws(SystemError) {
            if case .unix(let path) = endpoint { return try BoundSocket(address, unixPath: path) }
            return try BoundSocket(address)
        } catch {
            let advice = error.isAddressInUse ? " Is another server running? Choose another address with --listen." : ""
            throw ServerError("Cannot listen on \(endpoint): \(error.reason).\(advice)")
        }
    }

    private func checkReach(of address: SocketAddress, _ endpoint: Endpoint) throws(ServerError) {
        guard case .plaintext(beyondThisMachine: false) = security, !address.isLocal else { return }
        throw ServerError(
            "Others can reach \(endpoint), and without encryption they could read and change what is sent. Serve with "
                + "TLS, without --plaintext, or say --allow-insecure.")
    }
}
