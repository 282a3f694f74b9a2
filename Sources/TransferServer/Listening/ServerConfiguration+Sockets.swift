import TransferClassic
import TransferIO
import TransferSystem

extension ServerConfiguration {
    /// The sockets to accept on: those that were handed over, and new ones for what these don't serve. Blocks.
    ///
    /// - Returns: the caller's to close.
    /// - Throws: `ServerError`; then none is open.
    package func bind() throws(ServerError) -> [ServerSocket] {
        var bound = sockets
        do throws(ServerError) {
            for socket in sockets { try checkReach(of: socket.socket.address, socket.socket.endpoint, socket.classic) }
            for (endpoint, classic) in unserved {
                for address in try Self.resolve(endpoint) {
                    bound.append(ServerSocket(try bind(endpoint, address, classic), classic: classic))
                }
            }
            return bound
        } catch {
            for socket in bound { socket.socket.close() }
            throw error
        }
    }

    /// Where to listen, as far as no socket for it was handed over.
    var unserved: [(Endpoint, classic: ClassicListener?)] {
        let usual = endpoints.map { ($0, nil as ClassicListener?) }
        let others = classic.map { ($0.endpoint, $0 as ClassicListener?) }
        return (usual + others).filter { _, classic in !sockets.contains { $0.classic?.name == classic?.name } }
    }

    private static func resolve(_ endpoint: Endpoint) throws(ServerError) -> [SocketAddress] {
        do throws(ResolutionError) {
            return try endpoint.resolve()
        } catch {
            throw ServerError("Cannot listen on \(endpoint): \(error.reason).")
        }
    }

    private func bind(_ endpoint: Endpoint, _ address: SocketAddress, _ classic: ClassicListener?) throws(ServerError)
        -> BoundSocket
    {
        try checkReach(of: address, endpoint, classic)
        do throws(SystemError) {
            if case .unix(let path) = endpoint { return try BoundSocket(address, unixPath: path) }
            return try BoundSocket(address)
        } catch {
            let advice =
                classic == nil
                ? "Is another server running? Choose another address with --listen."
                : "Has --listen the same, or is another server running? Choose another address with --classic."
            throw ServerError(
                "Cannot listen on \(endpoint): \(error.reason)." + (error.isAddressInUse ? " " + advice : ""))
        }
    }

    /// The classic framings know no encryption.
    private func checkReach(
        of address: SocketAddress, _ endpoint: Endpoint, _ classic: ClassicListener?
    ) throws(ServerError) {
        guard !address.isLocal else { return }
        if let classic {
            guard !isClassicBeyondThisMachine else { return }
            throw ServerError(
                "Others can reach \(endpoint), and the framing \(classic.framing.name) knows no encryption and "
                    + "no keys: they could push, and read and change what is sent. Choose an address of this machine, or "
                    + "say --allow-insecure.")
        }
        guard case .plaintext(beyondThisMachine: false) = security else { return }
        throw ServerError(
            "Others can reach \(endpoint), and without encryption they could read and change what is sent. Serve with "
                + "TLS, without --plaintext, or say --allow-insecure.")
    }
}
